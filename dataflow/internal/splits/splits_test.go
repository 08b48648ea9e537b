package splits_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/splits"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tree = map[string]string{
	"/in/a.txt": "a", "/in/b.txt": "b", "/in/c.log": "c", "/in/_logs": "x", "/in/.crc": "x", "/in/sub/d.txt": "d",
	"/in2/a.txt": "e", "/in3/_SUCCESS": "", "/in3/part-0": "f", "/odd/[1].txt": "g", "/odd/{x}": "h", "/_in/a.txt": "i",
	"/packed/a.txt": "j", "/packed/b.txt.GZ": "k", "/empty/_x": "x",
}

func TestInputsNameFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inputs []string
		want   string
		err    error
	}{
		"a file":                                    {[]string{"/in/a.txt"}, "/in/a.txt", nil},
		"a qualified file":                          {[]string{"mem:///in/a.txt"}, "/in/a.txt", nil},
		"two files":                                 {[]string{"/in/b.txt", "/in2/a.txt"}, "/in/b.txt /in2/a.txt", nil},
		"a directory, not recursed":                 {[]string{"/in"}, "/in/a.txt /in/b.txt /in/c.log", nil},
		"a directory with nothing to read":          {[]string{"/empty"}, "", nil},
		"a hidden file named in full":               {[]string{"/in/_logs"}, "/in/_logs", nil},
		"a glob of files":                           {[]string{"/in/*.txt"}, "/in/a.txt /in/b.txt", nil},
		"a glob skips hidden names":                 {[]string{"/in/*"}, "/in/a.txt /in/b.txt /in/c.log /in/sub/d.txt", nil},
		"a glob that asks for hidden names":         {[]string{"/in/_*"}, "/in/_logs", nil},
		"a glob of directories":                     {[]string{"/in[23]"}, "/in2/a.txt /in3/part-0", nil},
		"a glob in the middle":                      {[]string{"/in*/a.txt"}, "/in/a.txt /in2/a.txt", nil},
		"one character, negated class":              {[]string{"/in/?.[^l]*"}, "/in/a.txt /in/b.txt", nil},
		"alternatives":                              {[]string{"/in/{a,c}.*"}, "/in/a.txt /in/c.log", nil},
		"nested alternatives":                       {[]string{"/{in/{a,b}.txt,in2/*}"}, "/in/a.txt /in/b.txt /in2/a.txt", nil},
		"alternatives that overlap":                 {[]string{"/in/{a*,*.txt}"}, "/in/a.txt /in/b.txt", nil},
		"a name that looks like a glob":             {[]string{"/odd/[1].txt"}, "/odd/[1].txt", nil},
		"an escaped name":                           {[]string{`/odd/\[?\].txt`}, "/odd/[1].txt", nil},
		"escaped braces":                            {[]string{`/odd/\{?\}`}, "/odd/{x}", nil},
		"missing":                                   {[]string{"/in/none"}, "", fs.ErrNotExist},
		"a glob that matches nothing":               {[]string{"/in/*.csv"}, "", splits.ErrNoMatch},
		"a glob below a file":                       {[]string{"/in/a.txt/*"}, "", splits.ErrNoMatch},
		"more alternatives than can be looked for":  {[]string{"/in/" + strings.Repeat("{a,b}", 40)}, "", splits.ErrTooMany},
		"a malformed glob":                          {[]string{"/in/[a"}, "", path.ErrBadPattern},
		"a compressed file in a directory":          {[]string{"/packed"}, "", splits.ErrCompressed},
		"a compressed file among others, by a glob": {[]string{"/in", "/packed/b*"}, "", splits.ErrCompressed},
		"a scheme that is not there":                {[]string{"s3://bucket/x"}, "", errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := splits.Plan(t.Context(), memfs.New(tree), c.inputs, 1)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if last := c.inputs[len(c.inputs)-1]; err != nil && !strings.Contains(err.Error(), "input "+last) {
				t.Errorf("error %q does not name the input %s", err, last)
			}
			var uris []string
			for _, s := range got {
				uris = append(uris, strings.TrimPrefix(s.URI, "mem://"))
			}
			slices.Sort(uris) // all have one byte: the order of equals is tested below
			if diff := cmp.Diff(strings.Fields(c.want), uris, cmp.Comparer(slices.Equal[[]string])); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreadableInputIsNamed(t *testing.T) {
	t.Parallel()
	for op, cause := range map[string]error{
		"Stat": fs.ErrPermission, "List": fs.ErrPermission, "Open": filesystem.ErrEncryptionZone, "Blocks": fs.ErrPermission,
	} {
		f := memfs.New(tree)
		f.Fault = func(c memfs.Call) error {
			if c.Op == op {
				return fmt.Errorf("%s %s: %w", c.Op, c.URI, cause)
			}
			return nil
		}
		if _, err := splits.Plan(t.Context(), f, []string{"/in"}, 1); !errors.Is(err, cause) || !strings.Contains(err.Error(), "/in") {
			t.Errorf("%s fails: error %v, want one that names the input and wraps %v", op, err, cause)
		}
	}
}

// The splits of a file must cover it without gap or overlap, whatever its
// blocks; else lines are lost or counted twice.
func TestSplitsCoverEachFileOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		sizes := rapid.SliceOfN(rapid.IntRange(0, 3<<20), 1, 5).Draw(t, "sizes")
		total := 0
		for i, size := range sizes {
			files[fmt.Sprintf("/in/%d", i)] = strings.Repeat("x", size)
			total += size
		}
		f := memfs.New(files)
		f.BlockSize = rapid.Int64Range(10<<10, 2<<20).Draw(t, "block size")
		f.Hosts = func(_ string, block int) []string { return []string{fmt.Sprint("host", block)} }
		parallelism := rapid.IntRange(1, 40).Draw(t, "parallelism")
		got, err := splits.Plan(ctx, f, []string{"/in"}, parallelism)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(got, func(a, b jobgraph.Split) int { return int(b.Length - a.Length) }) {
			t.Fatal("not the largest first")
		}
		covered := map[string]int64{}
		byOffset := slices.Clone(got)
		slices.SortStableFunc(byOffset, func(a, b jobgraph.Split) int { return int(a.Offset - b.Offset) })
		for _, s := range byOffset {
			if s.Offset != covered[s.URI] || s.Length <= 0 {
				t.Fatalf("split at %d of %s, covered to %d", s.Offset, s.URI, covered[s.URI])
			}
			if s.FileModTime.IsZero() || len(s.Hosts) != 1 {
				t.Fatalf("split without the file's time or hosts: %+v", s)
			}
			covered[s.URI] += s.Length
		}
		for i, size := range sizes {
			if got := covered[fmt.Sprintf("mem:///in/%d", i)]; got != int64(size) {
				t.Fatalf("file %d has %d bytes, its splits %d", i, size, got)
			}
		}
		if least := min(parallelism, total/(128<<10)); len(got) < least {
			t.Fatalf("%d splits for parallelism %d and %d bytes, want at least %d", len(got), parallelism, total, least)
		}
		if most := len(sizes) + 2*total/min(64<<10, int(f.BlockSize)) + 1; len(got) > most {
			t.Fatalf("%d splits of %d bytes, want at most %d", len(got), total, most)
		}
	})
}

func TestSmallBlocksAreJoinedAndLargeFilesCut(t *testing.T) {
	t.Parallel()
	f := memfs.New(map[string]string{"/f": strings.Repeat("x", 200<<20)})
	for name, c := range map[string]struct {
		block       int64
		parallelism int
		want        int
	}{
		"one local file":    {0, 1, 4},
		"more subtasks":     {0, 8, 32},
		"blocks of 128 MiB": {128 << 20, 1, 5}, // 3 of 50 MiB, 2 of 36
		"blocks of 1 MiB":   {1 << 20, 1, 4},
	} {
		f.BlockSize = c.block
		got, err := splits.Plan(t.Context(), f, []string{"/f"}, c.parallelism)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %d splits, %v, want %d", name, len(got), err, c.want)
		}
	}
}

func TestBlocksThatDoNotAddUpAreIgnored(t *testing.T) {
	t.Parallel()
	f := misreporting{memfs.New(map[string]string{"/f": "0123456789"})}
	got, err := splits.Plan(t.Context(), f, []string{"/f"}, 1)
	if err != nil || len(got) != 1 || got[0].Length != 10 || got[0].Hosts != nil {
		t.Errorf("splits %+v, %v, want the whole file without hosts", got, err)
	}
}

type misreporting struct{ *memfs.FS }

func (misreporting) Blocks(context.Context, string) ([]filesystem.Block, error) {
	return []filesystem.Block{{Length: 4, Hosts: []string{"a"}}, {Offset: 5, Length: 5, Hosts: []string{"b"}}}, nil
}
