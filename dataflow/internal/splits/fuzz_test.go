package splits_test

import (
	"path"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/splits"
)

// FuzzPlan lists the files of any path or pattern. It would catch a pattern that uses
// up the client's memory, a file that is read twice or does not exist, and an error
// that does not name the input.
func FuzzPlan(f *testing.F) {
	for _, input := range []string{
		"/in/*.txt", "/{in/{a,b}.txt,in2/*}", `/odd/\[?\].txt`, "/in/[a", "/in/{a,b", "/in/{,a,}.txt", "/in/[^l-a]*", "mem:///in", "/in/../in/a.txt",
		strings.Repeat("{a,b}", 40), strings.Repeat("{", 100) + strings.Repeat(",}", 100),
	} {
		f.Add(input)
	}
	files := memfs.New(tree)
	f.Fuzz(func(t *testing.T, input string) {
		found, err := splits.Plan(t.Context(), files, []string{input}, 1, ignore)
		if err != nil {
			if !strings.Contains(err.Error(), input) && !strings.Contains(err.Error(), path.Clean(input)) {
				t.Errorf("error %v does not name %q", err, input)
			}
			return
		}
		seen := make(map[string]bool)
		for _, s := range found {
			for _, part := range s.Parts {
				name := strings.TrimPrefix(s.URI(part), "mem://")
				content, is := tree[name]
				if !is || seen[name] || part.Offset != 0 || part.Length != int64(len(content)) {
					t.Errorf("%q names %+v", input, s)
				}
				seen[name] = true
			}
		}
	})
}
