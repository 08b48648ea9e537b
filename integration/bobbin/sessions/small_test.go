package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestTenThousandSmallFiles would catch files that are lost, doubled or joined when thousands share splits on several
// workers. It reports the time but does not assert it. scripts/bench also counts the calls to the NameNode.
func TestTenThousandSmallFiles(t *testing.T) {
	cluster.Long(t)
	plain := suite.Plain()
	t.Parallel()
	u := owner(t, plain)
	dir := u.Scratch(t)
	const files, writers = 10_000, 16
	const content = "the quick brown fox ran" // 23 bytes
	input := dir + "/input"
	fsys := u.Files(t)
	if err := fsys.MkdirAll(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	writing, ctx := errgroup.WithContext(t.Context())
	writing.SetLimit(writers)
	for i := range files {
		writing.Go(func() error {
			return fsys.WriteFile(ctx, fmt.Sprintf("%s/part-%05d", input, i), []byte(content), 0o644)
		})
	}
	if err := writing.Wait(); err != nil {
		t.Fatal(err)
	}
	u.Write(t, dir+"/few", "one\ntwo\n")

	id := start(t, u, "-s", "1")
	count := func(input, output string) (report bobbintest.Report, took time.Duration) {
		began := time.Now()
		report = run(t, u, "-t", "yarn-session", "-id", id, "-p", "2", plain.Program(t, "wordcount"), "--input", input, "--output", output)
		return report, time.Since(began)
	}
	count(dir+"/few", dir+"/few-counts") // the workers start
	report, took := count(input, dir+"/counts")
	cluster.Figure(t, "%d files of %d bytes take %v from command to exit, of which the job takes %d ms", files, len(content), took.Round(time.Millisecond), report.Duration)
	var want []string
	for word := range strings.FieldsSeq(content) {
		want = append(want, fmt.Sprintf("%s\t%d", word, files))
	}
	slices.Sort(want)
	if got := u.Output(t, dir+"/counts"); !slices.Equal(got, want) {
		t.Errorf("counted %q, want %q", got, want)
	}
}
