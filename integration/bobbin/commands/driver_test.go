package commands

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestDriverThatLeavesItsJobHasFailed would catch exit code 0 of a program that ended with an error
// while its job finished.
func TestDriverThatLeavesItsJobHasFailed(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "line\n")
	gate := filepath.Join(t.TempDir(), "gate")
	c := u.Start(t, bobbintest.Small("-o", "json", suite.Program(t, "faulty"), "impatient:"+gate, dir+"/lines", dir+"/out")...)
	c.Says(t, "submitted ")
	driver := program(t, c.PID())
	if err := syscall.Kill(driver, syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	ended(t, driver)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := c.Wait(t)
	report := got.JSON(t)
	if got.Code != 1 || report.JobStatus != "FINISHED" || !strings.Contains(report.Error, "the driver has waited long enough") {
		t.Errorf("want the job done and exit code 1 with the driver's reason, got %s", got)
	}
	u.CheckGone(t, report.Application)
}
