package run

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/control"
)

// TestMain is also the program that tests run as a driver, see plays.
func TestMain(m *testing.M) {
	if value, set := os.LookupEnv(control.Variable); set {
		os.Exit(plays(value, os.Args[1]))
	}
	// The race detector makes each child wait for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
