package lint

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo replaces go and records its calls. Two targets have findings; one of these findings is not
// an input. For two other targets the time ends late, for one of them each time.
const fakeGo = `#!/bin/sh
echo "$*" >> "$CALLS"
late() { echo "    context deadline exceeded"; echo FAIL; exit 1; }
case "$*" in
*FuzzGreeting*) late ;;
*FuzzWeb*) [ "$(grep -c FuzzWeb "$CALLS")" -gt 1 ] || late ;;
*FuzzParsePEM*) echo "    Failing input written to testdata/fuzz/FuzzParsePEM/0123"; echo FAIL; exit 1 ;;
*FuzzUpload*) echo "package does not build"; exit 2 ;;
*) echo ok ;;
esac
`

// TestFuzzingGoesOnAfterAFinding would catch a run of all fuzz targets that ends at the first
// finding, does not list the others, reports success, spends its time on minimizing a known
// finding, or takes a busy machine for a finding.
func TestFuzzingGoesOnAfterAFinding(t *testing.T) {
	bin := t.TempDir()
	calls := filepath.Join(bin, "calls")
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(fakeGo), 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "scripts/fuzz", "7s")
	run.Dir = root(t)
	run.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "CALLS="+calls)
	out, err := run.CombinedOutput()
	if exit, is := err.(*exec.ExitError); !is || exit.ExitCode() != 1 { //nolint:errorlint // it is none that is wrapped
		t.Errorf("with findings: %v", err)
	}
	called, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for name, content := range trackedFiles(t) {
		if strings.HasSuffix(name, "_test.go") && !inTestdata(name) {
			targets += strings.Count("\n"+string(content), "\nfunc Fuzz")
		}
	}
	if got := strings.Count(string(called), "-fuzztime=7s -fuzzminimizetime=1s"); got != targets+3 || targets < 20 { // three more tries
		t.Errorf("%d times a target runs, there are %d", got, targets)
	}
	const want = `
findings:
./appmaster/rest FuzzUpload
package does not build
./internal/pki FuzzParsePEM
    Failing input written to testdata/fuzz/FuzzParsePEM/0123
./taskrunner/exchange FuzzGreeting
    context deadline exceeded
`
	if !strings.HasSuffix(string(out), want) {
		t.Errorf("it ends with %q, want %q", out[max(0, len(out)-len(want)):], want)
	}
}
