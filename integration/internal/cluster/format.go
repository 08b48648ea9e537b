package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
)

// Each start of a JVM that formats a NameNode takes as long as the start of a NameNode. So the first formatted folder of a
// release is kept beside its jars, and others are copies of it with ids of their own.

// blank returns the folder that is kept.
func (s *spec) blank() string { return s.Jars.Dir + "-formatted" }

// identity matches the ids with which a NameNode and its DataNodes recognize each other, in a file VERSION.
var identity = regexp.MustCompile(`(?m)^(clusterID=CID-|blockpoolID=BP-)[0-9a-f]+`)

// format formats the folders of a NameNode.
func (c *Cluster) format(ctx context.Context, d daemon) error {
	if err := c.makeBlank(ctx, d); err != nil {
		return err
	}
	if c.isFormatted(d) {
		return nil
	}
	blank, name := os.DirFS(c.spec.blank()), c.spec.nameDir(d)
	if err := os.CopyFS(name, blank); err != nil {
		return fmt.Errorf("format %s: %w", d.Name, err)
	}
	version := filepath.Join(name, "current", "VERSION")
	text, err := os.ReadFile(version)
	if err != nil {
		return err
	}
	text = identity.ReplaceAll(text, fmt.Append(nil, "${1}", rand.Uint32()))
	if err := os.WriteFile(version, text, 0o644); err != nil {
		return err
	}
	if !c.spec.NameNodeHA || d.Name == otherNameNode {
		return nil
	}
	edits := filepath.Join(c.spec.editsDir(), "current")
	if err := os.MkdirAll(edits, 0o755); err != nil {
		return err
	}
	seen, err := fs.ReadFile(blank, "current/seen_txid")
	return errors.Join(err,
		os.WriteFile(filepath.Join(edits, "VERSION"), text, 0o644),
		os.WriteFile(filepath.Join(edits, "seen_txid"), seen, 0o644),
	)
}

// makeBlank formats a NameNode's folders with Hadoop's command, and keeps a copy, unless there is one.
func (c *Cluster) makeBlank(ctx context.Context, d daemon) error {
	blank := c.spec.blank()
	if _, err := os.Stat(blank); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := c.javaCommand(ctx, d, d.Kind.mainClass(), "-format", "-force", "-nonInteractive").CombinedOutput()
	if err != nil {
		return fmt.Errorf("format %s: %w\n%s", d.Name, err, lastLines(out, 10))
	}
	copied, err := os.MkdirTemp(filepath.Dir(blank), ".formatted-")
	if err != nil {
		return err
	}
	err = os.CopyFS(copied, os.DirFS(c.spec.nameDir(d)))
	if err == nil {
		err = os.Rename(copied, blank)
	}
	if errors.Is(err, fs.ErrExist) { // another process was first
		err = nil
	}
	return errors.Join(err, os.RemoveAll(copied))
}
