package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestCredentialsFilesAreHadoops would catch a byte that differs, so that a token is lost or the file's checksum is
// wrong. Containers get their tokens in these files, which Hadoop and Bobbin both write and read.
func TestCredentialsFilesAreHadoops(t *testing.T) {
	t.Parallel()
	many := creds.New()
	many.Tokens[""] = &creds.Token{Identifier: []byte("attempt"), Password: []byte("p1"), Kind: creds.KindAMRM}
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	for i := range 60 { // more than the initial size of Java's maps
		many.Tokens[fmt.Sprintf("älias-%d-日本", i*i)] = &creds.Token{
			Identifier: noise(i * 7), Password: noise(20), Kind: creds.KindHDFSDelegation, Service: fmt.Sprintf("10.0.0.%d:8020", i),
		}
		many.Secrets[fmt.Sprintf("secret.%d", i)] = noise(i * i)
	}
	for name, c := range map[string]*creds.Credentials{"empty": creds.New(), "many": many} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			content := strings.Join(lines(c), "")
			runJava(t, hadoopVersion(), strings.NewReader(content), nil, "Credentials", "write", dir)
			ours := map[creds.Format]string{creds.Writable: filepath.Join(dir, "0"), creds.Protobuf: filepath.Join(dir, "1")}
			theirs := map[creds.Format]string{creds.Writable: filepath.Join(dir, "WRITABLE"), creds.Protobuf: filepath.Join(dir, "PROTOBUF")}
			for format, path := range ours {
				if err := c.WriteFile(path, format); err != nil {
					t.Fatal(err)
				}
				if got, want := read(t, path), read(t, theirs[format]); !bytes.Equal(got, want) {
					t.Errorf("format %d: ours has %d bytes, Hadoop's %d, and they differ", format, len(got), len(want))
				}
				got, err := creds.ReadFile(theirs[format])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(lines(c), lines(got)); diff != "" {
					t.Errorf("format %d: we read (-want +got):\n%s", format, diff)
				}
			}
			back := runJava(t, hadoopVersion(), nil, nil, "Credentials", "read", ours[creds.Writable], ours[creds.Protobuf])
			if diff := cmp.Diff(content+content, string(back)); diff != "" {
				t.Errorf("Hadoop reads (-want +got):\n%s", diff)
			}
		})
	}
}

// lines returns the content in the format of Credentials.java.
func lines(c *creds.Credentials) []string {
	var all []string
	for alias, t := range c.Tokens {
		all = append(all, fmt.Sprintf("token %x %x %x %x %x\n", alias, t.Identifier, t.Password, t.Kind, t.Service))
	}
	for alias, secret := range c.Secrets {
		all = append(all, fmt.Sprintf("secret %x %x\n", alias, secret))
	}
	slices.Sort(all)
	return all
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
