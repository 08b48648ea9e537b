package splits_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/splits"
)

// many are so many files of 23 bytes in /in.
func many(n int) *memfs.FS {
	files := make(map[string]string, n)
	for i := range n {
		files[fmt.Sprintf("/in/part-%05d", i)] = "the quick brown fox ran"
	}
	return memfs.New(files)
}

// calls counts the calls of each method of a file system.
type calls struct {
	mu    sync.Mutex // guards count
	count map[string]int
}

func count(f *memfs.FS) *calls {
	c := &calls{count: make(map[string]int)}
	f.Fault = func(call memfs.Call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !call.Done {
			c.count[call.Op]++
		}
		return nil
	}
	return c
}

// Ten thousand files once needed more than ten thousand calls to the NameNode before the job ran.
// The test would catch a call for each file, also for the matches of a pattern.
func TestADirectoryIsListedByOneScan(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"/in", "/in/*", "/in/part-*"} {
		f := many(1000)
		f.Rights = func(string) string { return "alice:staff:644" }
		c := count(f)
		found := 0
		var mu sync.Mutex // guards found
		got, err := splits.Plan(t.Context(), f, []string{input}, 4, func(more int) {
			mu.Lock()
			defer mu.Unlock()
			found += more
		})
		if err != nil || len(got) == 0 || found != 1000 {
			t.Fatalf("%s: %d splits, %d files, %v", input, len(got), found, err)
		}
		total := 0
		for _, n := range c.count {
			total += n
		}
		if c.count["CheckReadable"] != 1 || total > 4 {
			t.Errorf("%s: calls %v", input, c.count)
		}
	}
}

// The listing checks permissions, so that a job does not fail after an hour at its last file. The
// test would catch files that are not checked although their rights differ from those of others.
func TestOneFileOfEachKindOfRightsIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rights func(uri string) string
		want   int
	}{
		"all the same":                    {func(string) string { return "alice:staff:644" }, 1},
		"three kinds":                     {func(uri string) string { return fmt.Sprint("mode ", uri[len(uri)-1]%3) }, 3},
		"known of none":                   {func(string) string { return "" }, 100},
		"known of some":                   {func(uri string) string { return strings.TrimLeft(uri[len(uri)-1:], "13579") }, 55}, // of 50 nothing is known
		"the same in two directories":     {func(string) string { return "alice:staff:644" }, 1},
		"no rights are told at all (nil)": {nil, 100},
	} {
		f := many(100)
		f.Rights, f.ScanPart = tc.rights, 10
		c := count(f)
		inputs, want := []string{"/in"}, tc.want
		if strings.Contains(name, "two directories") {
			f.Write("/other/file", "x")
			inputs, want = append(inputs, "/other"), 2
		}
		if _, err := splits.Plan(t.Context(), f, inputs, 4, ignore); err != nil || c.count["CheckReadable"] != want {
			t.Errorf("%s: %d files are asked for, want %d; %v", name, c.count["CheckReadable"], want, err)
		}
	}
}

// slow is slow for each call, and counts the calls under way.
type slow struct {
	*memfs.FS
	running, most atomic.Int64
}

const callTime = 10 * time.Millisecond

func (s *slow) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	n := s.running.Add(1)
	defer s.running.Add(-1)
	s.most.Store(max(s.most.Load(), n))
	time.Sleep(callTime)
	return s.FS.Scan(ctx, uri, part)
}

// The test would catch a listing that makes the calls for a year's daily directories one after the
// other, and a listing that overloads the NameNode.
func TestDirectoriesAreListedSideBySide(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	var inputs []string
	for i := range 160 {
		inputs = append(inputs, fmt.Sprintf("/logs/%03d", i))
		files[inputs[i]+"/data"] = "x"
	}
	for name, inputs := range map[string][]string{"inputs": inputs, "a pattern": {"/logs/*/*"}, "directories that match": {"/logs/*"}} {
		synctest.Test(t, func(t *testing.T) {
			f := &slow{FS: memfs.New(files)}
			began := time.Now()
			got, err := splits.Plan(t.Context(), f, inputs, 1, ignore)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, s := range got {
				found += len(s.Parts)
			}
			if took := time.Since(began); found != 160 || took > 12*callTime || f.most.Load() > 16 {
				t.Errorf("%s: %d files after %v, %d calls at a time", name, found, took, f.most.Load())
			}
		})
	}
}

// The test would catch a listing that continues after its first error, or after its caller has ended.
func TestAListingEndsWithItsFirstError(t *testing.T) {
	t.Parallel()
	f := many(10)
	c := count(f)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := splits.Plan(ctx, f, []string{"/in", "/in", "/in"}, 1, ignore); err == nil || len(c.count) > 0 {
		t.Errorf("error %v after calls %v", err, c.count)
	}
}

// vanishing has a directory that is removed after the first part of its listing.
type vanishing struct {
	*memfs.FS
	gone string // URI; "": none
}

func (v vanishing) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	parts := 0
	return v.FS.Scan(ctx, uri, func(entries []filesystem.Entry) error {
		if parts++; parts > 1 && uri == v.gone {
			return fmt.Errorf("list %s: %w", uri, fs.ErrNotExist)
		}
		return part(entries)
	})
}

// Another program may remove inputs at any time. The test would catch a job that reads one directory
// of two without an error, because it takes the removed one for an alternative without a match.
func TestWhatVanishesWhileItIsListedIsMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op, gone string // the call that does not find it any more; "", for a directory: its second part
		inputs   []string
	}{
		"a file":                               {"CheckReadable", "mem:///logs/b/2", []string{"/logs/{a,b}", "/logs/{a,b}/*", "/logs/{a,b}/2", "/logs/*", "/logs/*/2", "/logs/b"}},
		"a directory, between two parts":       {"", "mem:///logs/b", []string{"/logs/{a,b}", "/logs/{a,b}/*", "/logs/*", "/logs/*/*", "/logs/b"}},
		"a directory that a pattern has found": {"Scan", "mem:///logs/b", []string{"/logs/*", "/logs/*/*"}},
		"a directory below one":                {"List", "mem:///logs/b", []string{"/logs/*/*/*"}},
	} {
		for _, input := range c.inputs {
			f := memfs.New(map[string]string{"/logs/a/1": "x", "/logs/a/2": "x", "/logs/b/1": "x", "/logs/b/2": "x"})
			f.ScanPart = 1
			f.Fault = func(call memfs.Call) error {
				if call.Op == c.op && call.URI == c.gone {
					return fmt.Errorf("%s %s: %w", call.Op, call.URI, fs.ErrNotExist)
				}
				return nil
			}
			fsys := vanishing{FS: f}
			if c.op == "" {
				fsys.gone = c.gone
			}
			_, err := splits.Plan(t.Context(), fsys, []string{input}, 1, ignore)
			if !errors.Is(err, splits.ErrVanished) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "input "+c.gone+" vanished") {
				t.Errorf("%s, of %s: error %v", name, input, err)
			}
		}
	}
}
