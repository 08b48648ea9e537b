package splits_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/splits"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Ten thousand splits of 23 bytes take longer to hand out than to read, and one split leaves all
// subtasks idle but one.
func TestSmallFilesShareSplitsWhileEachSubtaskHasSome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files, parallelism, want int
	}{
		"ten thousand files, two subtasks":   {10_000, 2, 40}, // 256 each, as many as one may have
		"ten thousand files, many subtasks":  {10_000, 100, 400},
		"as many files as subtasks":          {100, 100, 100},
		"fewer files than subtasks":          {3, 8, 3},
		"a few files for one subtask":        {8, 1, 4},
		"as many files as splits would want": {16, 4, 16},
	} {
		got, err := splits.Plan(t.Context(), many(c.files), []string{"/in"}, c.parallelism, ignore)
		if err != nil || len(got) != c.want {
			t.Errorf("%s: %d splits, %v, want %d", name, len(got), err, c.want)
		}
		for _, s := range got {
			if s.Base != "mem:///in/" {
				t.Errorf("%s: a split begins its URIs with %s", name, s.Base)
			}
		}
	}
}

// The test would catch splits whose files lie on different nodes, so that no subtask reads locally,
// and one node that gets all splits.
func TestFilesOfANodeShareASplit(t *testing.T) {
	t.Parallel()
	const files, nodes = 4000, 5
	f := many(files)
	f.Hosts = func(uri string, _ int) []string { // two replicas
		var n int
		if _, err := fmt.Sscanf(uri[len(uri)-5:], "%d", &n); err != nil {
			t.Error(err)
		}
		return []string{fmt.Sprint("n", n%nodes), fmt.Sprint("n", (n/nodes)%nodes)}
	}
	got, err := splits.Plan(t.Context(), f, []string{"/in"}, 1, ignore)
	if err != nil {
		t.Fatal(err)
	}
	local := make(map[string]int) // files by node
	without := 0
	for _, s := range got {
		if len(s.Hosts) == 0 {
			without += len(s.Parts)
			continue
		}
		local[s.Hosts[0]] += len(s.Parts)
		for _, part := range s.Parts {
			if hosts := f.Hosts(s.URI(part), 0); !slices.Contains(hosts, s.Hosts[0]) {
				t.Fatalf("%s lies on %v, and shares a split of %v", part.Name, hosts, s.Hosts)
			}
		}
	}
	if without > nodes*128 {
		t.Errorf("%d files are in splits without a host", without)
	}
	for node, n := range local {
		if n > 2*files/nodes {
			t.Errorf("%s is given %d of %d files", node, n, files)
		}
	}
}

// given returns these files for each scan.
type given struct {
	*memfs.FS
	files []filesystem.Entry
}

func (given) Qualify(uri string) (string, error) { return uri, nil }

func (g given) Scan(_ context.Context, _ string, part func([]filesystem.Entry) error) error {
	return part(slices.Clone(g.files)) // whoever reads it may change it
}

func (given) CheckReadable(context.Context, string) error { return nil }

// small is a file of one block.
func small(uri string, size int64, hosts ...string) filesystem.Entry {
	e := filesystem.Entry{FileInfo: filesystem.FileInfo{URI: uri, Size: size}, Rights: "alice:staff:644"}
	if size > 0 {
		e.Blocks = []filesystem.Block{{Length: size, Hosts: hosts}}
	}
	return e
}

// The client gets tokens for the file system at the beginning of a split's URIs. For "hdfs://" alone
// it could get none.
func TestFilesOfTwoFileSystemsShareNoSplit(t *testing.T) {
	t.Parallel()
	var g given
	for i := range 60 {
		g.files = append(g.files, small(fmt.Sprintf("hdfs://a:8020/d%d", i), 1), small(fmt.Sprintf("hdfs://b:8020/d%d", i), 1))
	}
	got, err := splits.Plan(t.Context(), g, []string{"hdfs://a:8020/"}, 1, ignore)
	if err != nil || len(got) == 0 {
		t.Fatal(got, err)
	}
	found := 0
	for _, s := range got {
		found += len(s.Parts)
		if s.Base != "hdfs://a:8020/" && s.Base != "hdfs://b:8020/" {
			t.Errorf("a split begins its URIs with %q", s.Base)
		}
	}
	if found != 120 {
		t.Errorf("%d of 120 files are in splits", found)
	}
}

// nodes are the hosts of the files of anyFiles.
var nodes = []string{"n1", "n2", "n3", "n4"}

// anyFiles are files of up to 300 KiB, on two file systems, with up to three replicas.
func anyFiles(t *rapid.T) []filesystem.Entry {
	dirs := []string{"hdfs://a:8020/in/", "hdfs://a:8020/in/x/", "hdfs://a:8020/in2/", "hdfs://b:8020/in/"}
	all := make([]filesystem.Entry, 0, 200)
	for i := range rapid.IntRange(1, 200).Draw(t, "files") {
		hosts := rapid.Permutation(nodes).Draw(t, "hosts")[:rapid.IntRange(0, 3).Draw(t, "replicas")]
		uri := rapid.SampledFrom(dirs).Draw(t, "directory") + fmt.Sprintf("part-%03d", i)
		all = append(all, small(uri, rapid.Int64Range(0, 300<<10).Draw(t, "size"), hosts...))
	}
	return all
}

// The test compares shared splits with the files in them. It would catch a file that is lost, doubled
// or cut, a split that is too long or names a host without one of its files, files that do not share a
// split although they could, and a random order, which would make each plan different.
func TestSharedSplitsAreWhatTheirFilesAre(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		files := anyFiles(t)
		parallelism := rapid.IntRange(1, 8).Draw(t, "parallelism")
		plan := func() []jobgraph.Split {
			got, err := splits.Plan(ctx, given{files: files}, []string{"hdfs://a:8020/in"}, parallelism, ignore)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		got := plan()
		if diff := cmp.Diff(got, plan()); diff != "" {
			t.Fatalf("planned again (-first +second):\n%s", diff)
		}

		left := make(map[string]filesystem.Entry) // files that no split has
		total := int64(0)
		for _, f := range files {
			if f.Size > 0 {
				left[f.URI] = f
				total += f.Size + openCost
			}
		}
		target := min(max(total/int64(4*parallelism), 128<<10), 64<<20)
		shared, astray := 0, int64(0)
		for _, s := range got {
			if s.Parts[0].Length < s.Parts[0].FileLength { // TestSplitsCoverEachFileOnce is about files that are cut
				delete(left, s.URI(s.Parts[0]))
				continue
			}
			hosts, base := slices.Clone(nodes), s.URI(s.Parts[0])
			located := int64(0)
			for _, p := range s.Parts {
				f, is := left[s.URI(p)]
				if !is || p.Offset != 0 || p.Length != f.Size {
					t.Fatalf("%+v of %q is lost or doubled", p, s.Base)
				}
				delete(left, f.URI)
				hosts = slices.DeleteFunc(hosts, func(host string) bool { return !slices.Contains(f.Blocks[0].Hosts, host) })
				for !strings.HasPrefix(f.URI, base) {
					base = base[:strings.LastIndexByte(strings.TrimSuffix(base, "/"), '/')+1]
				}
				if len(f.Blocks[0].Hosts) > 0 {
					located += f.Size + openCost
				}
			}
			if base = base[:strings.LastIndexByte(base, '/')+1]; s.Base != base {
				t.Fatalf("a split begins its URIs with %q, and %q is what they have in common", s.Base, base)
			}
			if told := slices.Sorted(slices.Values(s.Hosts)); !slices.Equal(told, hosts) {
				t.Fatalf("a split has the hosts %v, and %v have all of it", told, hosts)
			}
			if len(s.Parts) > 1 && costOf(s) > target {
				t.Fatalf("%d files that share a split cost %d, of at most %d", len(s.Parts), costOf(s), target)
			}
			if shared++; len(s.Hosts) == 0 {
				astray += located
			}
		}
		if len(left) > 0 {
			t.Fatalf("%d files are in no split", len(left))
		}
		if most := 4*total/target + 2; int64(shared) > most {
			t.Fatalf("%d splits where %d are enough", shared, most)
		}
		if most := int64(2*len(nodes)) * target / 2; astray > most { // less than half a split of each host
			t.Fatalf("files that cost %d are in splits without a host, of at most %d", astray, most)
		}
	})
}

// endless is a directory of many files. It makes only one part of the listing at a time.
type endless struct {
	*memfs.FS
	files int
}

func (endless) Qualify(string) (string, error) { return "hdfs://nameservice1/in", nil }

func (f endless) Scan(_ context.Context, uri string, part func([]filesystem.Entry) error) error {
	const size = 333 // of three replicas each
	for i := 0; i < f.files; i += size {
		entries := make([]filesystem.Entry, 0, size)
		for k := i; k < min(i+size, f.files); k++ {
			entries = append(entries, filesystem.Entry{
				FileInfo: filesystem.FileInfo{URI: fmt.Sprintf("%s/part-%07d", uri, k), Size: 23},
				Blocks:   []filesystem.Block{{Length: 23, Hosts: []string{fmt.Sprintf("node%02d.example.com", k%40), fmt.Sprintf("node%02d.example.com", k%39), fmt.Sprintf("node%02d.example.com", k%37)}}},
				Rights:   "alice:staff:644",
			})
		}
		if err := part(entries); err != nil {
			return err
		}
	}
	return nil
}

func (endless) CheckReadable(context.Context, string) error { return nil }

// BenchmarkPlanOfAMillionFiles shows the memory that a listing holds at its end. The bytes allocated
// for each file include temporary ones.
func BenchmarkPlanOfAMillionFiles(b *testing.B) {
	const files = 1_000_000
	var got []jobgraph.Split
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if got, err = splits.Plan(b.Context(), endless{files: files}, []string{"/in"}, 16, ignore); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(got)), "splits")
}
