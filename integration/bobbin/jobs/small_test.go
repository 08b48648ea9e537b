package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestManySmallFiles would catch files that are lost, doubled or joined when they share splits.
func TestManySmallFiles(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	const files = 100
	local := t.TempDir()
	for i := range files {
		if err := os.WriteFile(filepath.Join(local, fmt.Sprintf("part-%05d", i)), []byte("the quick brown fox ran"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stage(t, alice, local, dir+"/input", "1m")
	got := alice.Run(t, bobbintest.Small("-p", "2", "-s", "2", suite.Program(t, "wordcount"), "--input", dir+"/input", "--output", dir+"/output")...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	want := []string{"brown\t100", "fox\t100", "quick\t100", "ran\t100", "the\t100"}
	if diff := cmp.Diff(want, alice.Output(t, dir+"/output")); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
