package dataflow_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// parts has a directory that Scan passes on in three slow parts.
type parts struct {
	*dataflowtest.Files
	each  time.Duration
	scans int
}

func (f *parts) Scan(_ context.Context, uri string, part func([]filesystem.Entry) error) error {
	f.scans++
	for n := range 3 {
		time.Sleep(f.each)
		name := fmt.Sprint("/part-", n)
		if err := part([]filesystem.Entry{{FileInfo: filesystem.FileInfo{URI: uri + name, Size: 1}}}); err != nil {
			return err
		}
	}
	return nil
}

func (*parts) CheckReadable(context.Context, string) error { return nil }

// A plan function runs twice. The test would catch a listing that runs twice too, and a listing of
// minutes without progress. A short listing needs no progress.
func TestAnInputIsListedOnceAndThatIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		each time.Duration
		want []int
	}{
		"a slow listing":  {1100 * time.Millisecond, []int{0, 1, 2}},
		"a quick listing": {100 * time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				files := &parts{Files: dataflowtest.NewFiles(nil), each: c.each}
				var told []int
				env := dataflow.NewEnv(dataflow.EnvOptions{
					FileSystem: files, Executor: new(cluster), Listing: func(files int) { told = append(told, files) },
				})
				if _, err := env.Execute(t.Context(), collectLines, "/in"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if files.scans != 1 || !slices.Equal(told, c.want) {
					t.Errorf("%d listings, told were %v, want %v", files.scans, told, c.want)
				}
			})
		})
	}
}
