package splits_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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
	"/packed/a.txt": "j", "/packed/b.txt.XZ": "k", "/gz/a.GZ": "l", "/gz/b.bz2": "m", "/gz/c.zst": "n", "/empty/_x": "x",
}

func TestInputsNameFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inputs []string
		want   string
		err    error
	}{
		"a file":                                   {[]string{"/in/a.txt"}, "/in/a.txt", nil},
		"a qualified file":                         {[]string{"mem:///in/a.txt"}, "/in/a.txt", nil},
		"two files":                                {[]string{"/in/b.txt", "/in2/a.txt"}, "/in/b.txt /in2/a.txt", nil},
		"a directory, not recursed":                {[]string{"/in"}, "/in/a.txt /in/b.txt /in/c.log", nil},
		"a directory with nothing to read":         {[]string{"/empty"}, "", nil},
		"a hidden file named in full":              {[]string{"/in/_logs"}, "/in/_logs", nil},
		"a glob of files":                          {[]string{"/in/*.txt"}, "/in/a.txt /in/b.txt", nil},
		"a glob skips hidden names":                {[]string{"/in/*"}, "/in/a.txt /in/b.txt /in/c.log /in/sub/d.txt", nil},
		"a glob that asks for hidden names":        {[]string{"/in/_*"}, "/in/_logs", nil},
		"a glob of directories":                    {[]string{"/in[23]"}, "/in2/a.txt /in3/part-0", nil},
		"a glob in the middle":                     {[]string{"/in*/a.txt"}, "/in/a.txt /in2/a.txt", nil},
		"one character, negated class":             {[]string{"/in/?.[^l]*"}, "/in/a.txt /in/b.txt", nil},
		"alternatives":                             {[]string{"/in/{a,c}.*"}, "/in/a.txt /in/c.log", nil},
		"nested alternatives":                      {[]string{"/{in/{a,b}.txt,in2/*}"}, "/in/a.txt /in/b.txt /in2/a.txt", nil},
		"alternatives that overlap":                {[]string{"/in/{a*,*.txt}"}, "/in/a.txt /in/b.txt", nil},
		"a name that looks like a glob":            {[]string{"/odd/[1].txt"}, "/odd/[1].txt", nil},
		"an escaped name":                          {[]string{`/odd/\[?\].txt`}, "/odd/[1].txt", nil},
		"escaped braces":                           {[]string{`/odd/\{?\}`}, "/odd/{x}", nil},
		"missing":                                  {[]string{"/in/none"}, "", fs.ErrNotExist},
		"a glob that matches nothing":              {[]string{"/in/*.csv"}, "", splits.ErrNoMatch},
		"a glob below a file":                      {[]string{"/in/a.txt/*"}, "", splits.ErrNoMatch},
		"more alternatives than can be looked for": {[]string{"/in/" + strings.Repeat("{a,b}", 40)}, "", splits.ErrTooMany},
		"a malformed glob":                         {[]string{"/in/[a"}, "", path.ErrBadPattern},
		"compressed files":                         {[]string{"/gz"}, "/gz/a.GZ /gz/b.bz2 /gz/c.zst", nil},
		"another format in a directory":            {[]string{"/packed"}, "", splits.ErrCompressed},
		"another format among others, by a glob":   {[]string{"/in", "/packed/b*"}, "", splits.ErrCompressed},
		"a scheme that is not there":               {[]string{"s3://bucket/x"}, "", errors.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := splits.Plan(t.Context(), memfs.New(tree), c.inputs, 1, ignore)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if last := c.inputs[len(c.inputs)-1]; err != nil && !strings.Contains(err.Error(), "input "+last) {
				t.Errorf("error %q does not name the input %s", err, last)
			}
			var uris []string
			for _, s := range got {
				for _, part := range s.Parts {
					uris = append(uris, strings.TrimPrefix(s.URI(part), "mem://"))
				}
			}
			slices.Sort(uris) // all have one byte: the order of equals is tested below
			if diff := gocmp.Diff(strings.Fields(c.want), uris, gocmp.Comparer(slices.Equal[[]string])); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// ignore ignores the progress of a listing.
func ignore(int) {}

func TestUnreadableInputIsNamed(t *testing.T) {
	t.Parallel()
	for op, cause := range map[string]error{
		"Scan": fs.ErrPermission, "CheckReadable": fs.ErrPermission,
	} {
		f := memfs.New(tree)
		f.Fault = func(c memfs.Call) error {
			if c.Op == op {
				return fmt.Errorf("%s %s: %w", c.Op, c.URI, cause)
			}
			return nil
		}
		if _, err := splits.Plan(t.Context(), f, []string{"/in"}, 1, ignore); !errors.Is(err, cause) || !strings.Contains(err.Error(), "/in") {
			t.Errorf("%s fails: error %v, want one that names the input and wraps %v", op, err, cause)
		}
	}
}

// refusing has an unreadable file among readable ones.
type refusing struct{ *memfs.FS }

func (f refusing) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	return f.FS.Scan(ctx, uri, func(entries []filesystem.Entry) error {
		for i := range entries {
			if strings.HasSuffix(entries[i].URI, "b.txt") {
				entries[i].Refused = filesystem.ErrEncryptionZone
			}
		}
		return part(entries)
	})
}

// The test would catch a job that counts ciphertext.
func TestAFileThatNobodyCanReadIsNamed(t *testing.T) {
	t.Parallel()
	_, err := splits.Plan(t.Context(), refusing{memfs.New(tree)}, []string{"/in"}, 1, ignore)
	if !errors.Is(err, filesystem.ErrEncryptionZone) || !strings.Contains(err.Error(), "/in/b.txt") {
		t.Errorf("error %v", err)
	}
	if _, err := splits.Plan(t.Context(), refusing{memfs.New(tree)}, []string{"/in/a*"}, 1, ignore); err != nil {
		t.Errorf("others are refused, too: %v", err)
	}
}

// For any blocks, the splits of a file must cover it without gap or overlap. Otherwise
// lines are lost or counted twice.
func TestSplitsCoverEachFileOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		sizes := rapid.SliceOfN(rapid.IntRange(0, 3<<20), 1, 12).Draw(t, "sizes")
		total := 0
		for i, size := range sizes {
			files[fmt.Sprintf("/in/%d", i)] = strings.Repeat("x", size)
			total += size
		}
		f := memfs.New(files)
		f.BlockSize = rapid.Int64Range(10<<10, 2<<20).Draw(t, "block size")
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		f.Hosts = func(uri string, block int) []string {
			return []string{fmt.Sprint("host", (len(uri)+block)%nodes), "everywhere"}
		}
		parallelism := rapid.IntRange(1, 40).Draw(t, "parallelism")
		got, err := splits.Plan(ctx, f, []string{"/in"}, parallelism, ignore)
		if err != nil {
			t.Fatal(err)
		}
		checkOrder(t, got)
		checkCover(t, got, sizes)
		for _, s := range got {
			if !slices.Contains(s.Hosts, "everywhere") {
				t.Fatalf("split %+v has lost a host that has all of it", s)
			}
			for _, part := range s.Parts {
				if len(s.Parts) > 1 && part.Length != part.FileLength {
					t.Fatalf("a part of a file shares a split: %+v", s)
				}
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

// openCost is the cost of opening a file, in bytes.
const openCost = 256 << 10

func costOf(s jobgraph.Split) int64 { return s.Bytes() + openCost*int64(len(s.Parts)) }

// checkOrder checks that the largest splits come first. At the end they would delay the job.
func checkOrder(t *rapid.T, got []jobgraph.Split) {
	if !slices.IsSortedFunc(got, func(a, b jobgraph.Split) int { return int(costOf(b) - costOf(a)) }) {
		t.Fatal("not the largest first")
	}
}

// checkCover checks that each byte of the files /in/0, /in/1, … is in one part.
func checkCover(t *rapid.T, got []jobgraph.Split, sizes []int) {
	type run struct {
		uri  string
		part jobgraph.Part
	}
	var runs []run
	for i := range got {
		for _, part := range got[i].Parts {
			runs = append(runs, run{got[i].URI(part), part})
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Or(strings.Compare(a.uri, b.uri), int(a.part.Offset-b.part.Offset)) })
	covered := map[string]int64{}
	for _, r := range runs {
		if r.part.Offset != covered[r.uri] || r.part.Length <= 0 {
			t.Fatalf("%d bytes at %d of %s, covered to %d", r.part.Length, r.part.Offset, r.uri, covered[r.uri])
		}
		if r.part.FileModTime == 0 {
			t.Fatalf("part without the file's time: %+v", r.part)
		}
		covered[r.uri] += r.part.Length
	}
	for i, size := range sizes {
		if got := covered[fmt.Sprintf("mem:///in/%d", i)]; got != int64(size) {
			t.Fatalf("file %d has %d bytes, its splits %d", i, size, got)
		}
	}
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
		got, err := splits.Plan(t.Context(), f, []string{"/f"}, c.parallelism, ignore)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %d splits, %v, want %d", name, len(got), err, c.want)
		}
	}
}

func TestBlocksThatDoNotAddUpAreIgnored(t *testing.T) {
	t.Parallel()
	f := misreporting{memfs.New(map[string]string{"/f": "0123456789"})}
	got, err := splits.Plan(t.Context(), f, []string{"/f"}, 1, ignore)
	if err != nil || len(got) != 1 || got[0].Bytes() != 10 || got[0].Hosts != nil {
		t.Errorf("splits %+v, %v, want the whole file without hosts", got, err)
	}
}

// It would catch a product of two sizes that overflows.
func TestAFileOf100TerabytesIsCut(t *testing.T) {
	t.Parallel()
	const size = 100 << 40
	f := claiming{memfs.New(map[string]string{"/f": "a file on a local disk, in one block"}), size}
	got, err := splits.Plan(t.Context(), f, []string{"/f"}, 1, ignore)
	if err != nil || len(got) < 1000 {
		t.Fatalf("%d splits, %v", len(got), err)
	}
	end := int64(0)
	for _, s := range got {
		if part := s.Parts[0]; part.Offset != end || part.Length <= 0 {
			t.Fatalf("a part at %d of %d bytes, want one at %d", part.Offset, part.Length, end)
		}
		end += s.Bytes()
	}
	if end != size {
		t.Errorf("the splits have %d bytes of %d", end, int64(size))
	}
}

// claiming says that its files have this size.
type claiming struct {
	*memfs.FS
	size int64
}

func (f claiming) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	return f.FS.Scan(ctx, uri, func(entries []filesystem.Entry) error {
		entries[0].Size, entries[0].Blocks = f.size, nil
		return part(entries)
	})
}

type misreporting struct{ *memfs.FS }

func (f misreporting) Scan(ctx context.Context, uri string, part func([]filesystem.Entry) error) error {
	return f.FS.Scan(ctx, uri, func(entries []filesystem.Entry) error {
		entries[0].Blocks = []filesystem.Block{{Length: 4, Hosts: []string{"a"}}, {Offset: 5, Length: 5, Hosts: []string{"b"}}}
		return part(entries)
	})
}

// A reader that begins within a compressed file reads nothing useful. The test would catch a file that is
// cut, also if its blocks are known, and small files that do not share a split.
func TestCompressedFilesAreNotCut(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/in/large.gz": strings.Repeat("x", 3<<20), "/in/large.txt": strings.Repeat("x", 3<<20)}
	for i := range 40 {
		files[fmt.Sprintf("/in/small%d.zst", i)] = "x"
	}
	f := memfs.New(files)
	f.BlockSize = 1 << 20
	f.Hosts = func(_ string, block int) []string { return []string{fmt.Sprint("host", block)} }
	got, err := splits.Plan(t.Context(), f, []string{"/in"}, 8, ignore)
	if err != nil {
		t.Fatal(err)
	}
	parts, small := map[string]int{}, 0
	for _, s := range got {
		for _, part := range s.Parts {
			name := s.URI(part)
			parts[path.Base(name)]++
			if path.Ext(name) != ".txt" && part.Length != part.FileLength {
				t.Errorf("%s is cut: %+v", name, part)
			}
			if part.FileLength == 1 {
				small++
			}
		}
	}
	if parts["large.gz"] != 1 || parts["large.txt"] < 3 || small != 40 || len(got) > 30 {
		t.Errorf("%d splits, parts %v", len(got), parts)
	}
	if got[0].Parts[0].Length != 3<<20 || len(got[0].Hosts) != 1 {
		t.Errorf("the largest file is not first, or at no host: %+v", got[0])
	}
}
