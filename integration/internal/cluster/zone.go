package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// With Config.Zone HDFS has the encryption zone Zone, which everybody may write to, and in it the files of ZoneFiles. Its key
// is in a file, which needs no key server. NameNodes look for keys when they start: the zone's is made before.

// Zone is the directory of the encryption zone.
const Zone = "/zone"

// ZoneFiles are the names of files in it, all encrypted.
func ZoneFiles() []string { return []string{"a-secret", "file"} }

const zoneKey = "zone"

// zoneDir holds the keys, and what the zone is made of.
func (s *spec) zoneDir() string { return filepath.Join(s.Dir, "zone") }

// addZone has clients and daemons find the keys.
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

// makeZone makes the zone and its files, as HDFS' own user.
func (c *Cluster) makeZone(ctx context.Context, h HDFS) error {
	if err := h.Mkdir(ctx, Zone, h.user, "777"); err != nil {
		return err
	}
	put := []string{"-put"}
	for _, name := range ZoneFiles() {
		file := filepath.Join(c.spec.zoneDir(), name)
		if err := os.WriteFile(file, []byte(strings.Repeat("To be, or not to be\n", 50)), 0o644); err != nil {
			return err
		}
		put = append(put, file)
	}
	var env []string
	if c.Secure() {
		cache := filepath.Join(c.spec.zoneDir(), "ticket")
		if err := c.Kinit(ctx, h.user, cache); err != nil {
			return err
		}
		env = []string{"KRB5CCNAME=" + cache}
	}
	for _, command := range [][]string{
		{"org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", zoneKey, "-path", Zone},
		append(append([]string{FsShell}, put...), Zone),
	} {
		cmd := c.Command(ctx, command[0], command[1:]...)
		cmd.Env = append(cmd.Env, env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("make encryption zone: run %s: %w\n%s", command, err, lastLines(out, 10))
		}
	}
	return nil
}
