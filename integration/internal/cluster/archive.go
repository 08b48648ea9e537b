package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// sharedClasses returns the JVM flags that map the archive of the release's classes, if there is one. Otherwise the JVM
// reads the jars.
func (s *spec) sharedClasses() []string {
	archive := s.Jars.Archive(s.Java)
	if archive == "" {
		return nil
	}
	return []string{"-XX:SharedArchiveFile=" + archive}
}

// MakeArchive makes the archive of a Hadoop release's classes, unless it exists. With it, daemons take about half as
// long to start. MakeArchive starts a cluster whose daemons list the classes that they load. The cluster has two of
// each server and, if a KDC is installed, Kerberos, so that it loads all classes that other clusters load. That takes
// about half a minute.
func MakeArchive(ctx context.Context, version string, log logrus.FieldLogger) error {
	java, err := artifacts.FindJava()
	if err != nil {
		return err
	}
	jars, err := artifacts.Fetch(ctx, version)
	if err != nil {
		return err
	}
	if jars, err = jars.Patched(ctx, java); err != nil || jars.Archive(java) != "" {
		return err
	}
	dir, err := os.MkdirTemp("", "bobbin-classes-")
	if err != nil {
		return fmt.Errorf("make class archive: %w", err)
	}
	defer os.RemoveAll(dir)
	cfg := Config{Version: version, NodeManagers: 1, HA: true, NameNodeHA: true, Log: log, classLists: dir}
	if _, err := findSystemProgram("krb5kdc"); err == nil {
		cfg.Kerberos = &Kerberos{Protection: "privacy", Web: true}
	}
	c, err := Start(ctx, cfg)
	if err != nil {
		return err
	}
	if err := c.Close(); err != nil {
		return err
	}
	lists, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	return jars.MakeArchive(ctx, java, lists...)
}
