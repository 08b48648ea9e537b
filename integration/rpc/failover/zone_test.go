package failover

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// zoneKey is the key that the files of the encryption zone are encrypted by.
const zoneKey = "zone-key"

// zonesAreRefused would catch ciphertext that is given for a file's content, and a file
// that everybody else finds to be garbage. It is here since only these NameNodes have
// keys.
func zonesAreRefused(ctx context.Context, t *testing.T, c *cluster.Cluster, f *dfs.FS) {
	t.Helper()
	home, err := f.Home()
	if err != nil {
		t.Fatal(err)
	}
	zone := home + "/zone"
	if err := f.MkdirAll(ctx, zone); err != nil {
		t.Fatal(err)
	}
	java(ctx, t, c, "org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", zoneKey, "-path", zone)
	java(ctx, t, c, cluster.FsShell, "-touchz", zone+"/encrypted")
	if _, err := f.Open(ctx, zone+"/encrypted"); !errors.Is(err, filesystem.ErrEncryptionZone) {
		t.Errorf("open: %v", err)
	}
	if _, err := f.Create(ctx, zone+"/new", filesystem.ExistingParents); !errors.Is(err, filesystem.ErrEncryptionZone) {
		t.Errorf("create: %v", err)
	}
	if _, err := f.Stat(ctx, zone+"/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused file is there: %v", err)
	}
}

// java runs one of Hadoop's tools.
func java(ctx context.Context, t *testing.T, c *cluster.Cluster, class string, args ...string) {
	t.Helper()
	if out, err := c.Command(ctx, class, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out)
	}
}
