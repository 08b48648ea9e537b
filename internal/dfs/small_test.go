package dfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

var copied = dataflow.Job("copied", func(p *dataflow.Plan, in string) error {
	text := func(dst, line []byte) []byte { return append(dst, line...) }
	dataflow.WriteText(dataflow.ReadText(p, in), "/out", text)
	return nil
})

// A job of ten thousand small files once made three calls to the NameNode for each file when it was
// planned, and three when it ran, one after the other, and one connection to a DataNode. The test
// would catch any call that comes back.
func TestAJobOfManySmallFilesTakesOneCallForEach(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	for _, in := range []string{"/in", "/in/part-*"} {
		onHDFS(t, hdfsfake.Config{DataNodes: 3, ListLimit: 1000}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
			const files = 1000
			for i := range files {
				fake.WriteFile(fmt.Sprintf("/in/part-%05d", i), []byte("the quick brown fox ran"))
			}
			dataflowtest.Run(t, copied, in, dataflowtest.Options{FileSystem: f, Parallelism: 2})
			lines := 0
			for _, name := range []string{"/out/part-00000", "/out/part-00001"} {
				content, _ := fake.ReadFile(name)
				lines += bytes.Count(content, []byte("\n"))
			}
			if lines != files {
				t.Errorf("%d lines are written", lines)
			}
			for method, most := range map[string]int{
				"getListing":         3 + 9, // a thousand entries with three replicas each, a name that is a pattern, and the output's
				"getLocatedFileInfo": files,
				"getBlockLocations":  1, // the check that one file can be read
				"getFileInfo":        30,
			} {
				if n := len(fake.Calls(method)); n > most {
					t.Errorf("%s: %d calls of %s, want %d at most", in, n, method, most)
				}
			}
			if n := fake.Dialled(); n > 3*16+4 {
				t.Errorf("%s: %d connections to three DataNodes", in, n)
			}
		})
	}
}

// It would catch a file that loses its end, and bytes of one block in another block's place.
func TestWholeFilesAreLoaded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 511, 512, 1023, 1024, 1025, 5000} {
		onHDFS(t, hdfsfake.Config{BlockSize: 1024}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
			want := pattern(size)
			fake.WriteFile("/file", want)
			got, info, err := f.Load(t.Context(), "/file", int64(size))
			if err != nil || !bytes.Equal(got, want) || info.Size != int64(size) || info.URI != "hdfs://"+fake.Authority()+"/file" || info.ModTime.IsZero() {
				t.Errorf("%d of %d bytes of %+v, %v", len(got), size, info, err)
			}
			if n := len(fake.Calls("getLocatedFileInfo")); n != 1 {
				t.Errorf("%d calls", n)
			}
			if size == 0 {
				return
			}
			if _, _, err := f.Load(t.Context(), "/file", int64(size)-1); !errors.Is(err, filesystem.ErrTooLarge) || !strings.Contains(err.Error(), "/file") {
				t.Errorf("over the limit: %v", err)
			}
		})
	}
}

// It would catch wrong bytes that count as right, and a task that fails where another replica or a
// retry would help.
func TestLoadingSurvivesWhatReadingDoes(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(*hdfsfake.Fake){
		"cut":             func(f *hdfsfake.Fake) { f.CutRead(700) },
		"silent":          func(f *hdfsfake.Fake) { f.StallRead(700) },
		"corrupt":         func(f *hdfsfake.Fake) { f.CorruptRead(700) },
		"refused":         (*hdfsfake.Fake).RefuseRead,
		"the NameNode":    func(f *hdfsfake.Fake) { f.Drop("getLocatedFileInfo", hdfsfake.Before) },
		"three times":     func(f *hdfsfake.Fake) { f.CutRead(0); f.CutRead(0); f.CutRead(0) },
		"one node is out": func(f *hdfsfake.Fake) { f.StopDataNode(0) },
	} {
		for _, dataNodes := range []int{1, 2} {
			if dataNodes == 1 && name == "one node is out" {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d DataNodes", name, dataNodes), func(t *testing.T) {
				t.Parallel()
				onHDFS(t, hdfsfake.Config{BlockSize: 1024, DataNodes: dataNodes}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
					want := pattern(3000)
					fake.WriteFile("/file", want)
					strike(fake)
					if got, _, err := f.Load(t.Context(), "/file", 3000); err != nil || !bytes.Equal(got, want) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				})
			})
		}
	}
}

// A permanent error must not be retried. It must be the same error as that of opening the file.
func TestWhatCannotBeLoadedIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/zone/file", pattern(10))
		fake.Encrypt("/zone")
		fake.WriteFile("/striped/file", pattern(10))
		fake.Stripe("/striped")
		fake.WriteFile("/mine", pattern(10))
		for uri, want := range map[string]error{
			"/none": fs.ErrNotExist, "/zone": errIsDirectory, "/zone/file": filesystem.ErrEncryptionZone, "/striped/file": filesystem.ErrErasureCoded,
		} {
			if _, _, err := f.Load(t.Context(), uri, 10); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", uri, err, want)
			}
			if _, err := f.Open(t.Context(), uri); !errors.Is(err, want) {
				t.Errorf("opening %s: %v, want %v", uri, err, want)
			}
		}
		fake.Refuse("getLocatedFileInfo", hdfsfake.Before, "org.apache.hadoop.security.AccessControlException", "no")
		if _, _, err := f.Load(t.Context(), "/mine", 10); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "alice") {
			t.Errorf("what may not be read: %v", err)
		}
		if n := len(fake.Calls("getLocatedFileInfo")); n != 5 {
			t.Errorf("%d calls for five files", n)
		}
	})
}

// Splits are made from a scan's entries. The test would catch a file that is reported as readable
// by everybody, and blocks that are reported for another file.
func TestAScanTellsWhatAPlanNeeds(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{BlockSize: 1024, DataNodes: 2, ListLimit: 4}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/dir/a", pattern(3000))
		fake.WriteFile("/dir/b", nil)
		fake.WriteFile("/dir/sub/x", nil)
		fake.WriteFile("/dir/z", pattern(10))
		fake.Encrypt("/other")
		fake.WriteFile("/other/secret", pattern(10))
		got := scanned(t, f, "/dir")
		if len(got) != 4 || len(got[0].Blocks) != 3 || len(got[0].Blocks[2].Hosts) != 2 || got[0].Blocks[2].Offset != 2048 || got[0].Blocks[2].Length != 952 {
			t.Fatalf("scanned are %+v", got)
		}
		if !got[2].IsDir || len(got[1].Blocks) != 0 || got[0].Rights == "" || got[0].Rights != got[3].Rights {
			t.Errorf("scanned are %+v", got)
		}
		if n := len(fake.Calls("getListing")); n != 2 {
			t.Errorf("%d calls", n)
		}
		if secret := scanned(t, f, "/other/secret"); len(secret) != 1 || !errors.Is(secret[0].Refused, filesystem.ErrEncryptionZone) || secret[0].URI != "hdfs://"+fake.Authority()+"/other/secret" {
			t.Errorf("a file in an encryption zone is scanned as %+v", secret)
		}
		enough := errors.New("enough")
		if err := f.Scan(t.Context(), "/dir", func([]filesystem.Entry) error { return enough }); !errors.Is(err, enough) || err.Error() != "enough" {
			t.Errorf("the caller's own error is %v", err)
		}
	})
}

// A large file has a million blocks. A split needs one or two of them.
func TestOfALargeFileAPartIsLocated(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{BlockSize: 1024}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(100<<10))
		file, err := f.Open(t.Context(), "/file")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Seek(50<<10, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(file); err != nil {
			t.Fatal(err)
		}
		if n := len(fake.Calls("getBlockLocations")); n != 1 || len(fake.Calls("getLocatedFileInfo")) != 0 || len(fake.Calls("getFileInfo")) != 1 {
			t.Errorf("blocks were located %d times", n)
		}
	})
}
