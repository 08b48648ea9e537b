package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// With Config.Zone HDFS has an encryption zone in which all users may write. It has two encrypted files: "file", and
// "secret" in the directory "words". The zone's key is in a file, so that no key server is needed. NameNodes look for
// keys when they start, so the key is made before.

// Zone is the directory of the encryption zone.
const Zone = "/zone"

const zoneKey = "zone"

// zoneDir holds the keys, and the sources of the zone's files.
func (s *spec) zoneDir() string { return filepath.Join(s.Dir, "zone") }

// addZone adds the properties with which clients and daemons find the keys.
func (s *spec) addZone() {
	s.Zone = true
	s.Core["hadoop.security.key.provider.path"] = "jceks://file" + filepath.Join(s.zoneDir(), "keys.jceks")
}

// makeZoneKey makes the key.
func (c *Cluster) makeZoneKey(ctx context.Context) error {
	if !c.spec.Zone {
		return nil
	}
	if err := os.MkdirAll(c.spec.zoneDir(), 0o755); err != nil {
		return err
	}
	_, err := c.CLI(ctx, "org.apache.hadoop.crypto.key.KeyShell", "create", zoneKey)
	return err
}

// makeZone makes the zone and its files, as HDFS's superuser.
func (c *Cluster) makeZone(ctx context.Context, h HDFS) error {
	if err := h.Mkdir(ctx, Zone, h.user, "777"); err != nil {
		return err
	}
	local := c.spec.zoneDir()
	for _, name := range []string{"file", "words/secret"} {
		file := filepath.Join(local, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(strings.Repeat("To be, or not to be\n", 50)), 0o644); err != nil {
			return err
		}
	}
	for _, command := range [][]string{
		{"org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", zoneKey, "-path", Zone},
		{FsShell, "-put", filepath.Join(local, "file"), filepath.Join(local, "words"), Zone},
	} {
		if _, err := c.CLIAsSuperuser(ctx, command[0], command[1:]...); err != nil {
			return fmt.Errorf("make encryption zone: %w", err)
		}
	}
	return nil
}
