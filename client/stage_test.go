package client

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// together holds the writes of cache files until a given number of them has started.
type together struct {
	*dfs.FS
	mu      sync.Mutex // guards missing
	missing int
	all     chan struct{} // closed when none is missing
}

func (f *together) CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error) {
	if strings.Contains(uri, "/cache/") {
		f.mu.Lock()
		if f.missing--; f.missing == 0 {
			close(f.all)
		}
		f.mu.Unlock()
		<-f.all
	}
	return f.FS.CreateMode(ctx, uri, o)
}

// TestFilesAreUploadedAtOnce would catch uploads that wait for each other, which would deadlock the bubble;
// files that are swapped; and progress that does not add up.
func TestFilesAreUploadedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, home := t.TempDir(), t.TempDir()
		disk := dfs.New(dfs.Options{})
		defer disk.Close() // a test's
		contents := map[string]string{"bobbin": "ours"}
		for i := range parallelUploads {
			contents[fmt.Sprintf("file%d", i)] = strings.Repeat("x", i+1)
		}
		write(t, dir, contents)
		var files []staging.File
		size := int64(0)
		for _, name := range []string{"bobbin", "file0", "file1", "file2", "file3"} {
			f, err := localFile(dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
			size += f.Size
		}
		area := staging.New(&together{FS: disk, missing: parallelUploads, all: make(chan struct{})}, "file://"+home, 0)
		staged, err := area.Begin(t.Context(), "application_1_0001", files...)
		if err != nil {
			t.Fatal(err)
		}
		provided := launch.Resource{URI: "hdfs://nn/bobbin"}
		last := [2]int64{}
		app := Application{staged: staged}
		got, err := app.cacheAll(t.Context(), &plan{
			done:      func(string) {},
			uploading: func(_ string, done, total int64) { last = [2]int64{done, total} },
		}, &provided, files)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != provided {
			t.Errorf("bobbin is %+v, want the provided one", got[0])
		}
		for i, f := range files[1:] {
			if r := got[i+1]; r.Size != f.Size || !strings.HasSuffix(r.URI, f.SHA256+"/"+f.Name) {
				t.Errorf("%s is staged as %+v", f.Name, r)
			}
		}
		if want := size - files[0].Size; last != [2]int64{want, want} {
			t.Errorf("at the end %d of %d bytes are shown, want all %d", last[0], last[1], want)
		}
	})
}
