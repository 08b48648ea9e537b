package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// runner runs a package's tests: *testing.M.
type runner interface{ Run() int }

// Main runs a package's tests, for its TestMain, and returns the exit code. If RunVariable is not set, the clusters
// that the tests start belong to this process, and end with it in any case.
func Main(m runner) int {
	if os.Getenv(RunVariable) != "" {
		return m.Run()
	}
	code, err := alone(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clusters of the tests:", err)
		return 1
	}
	return code
}

func alone(m runner) (code int, err error) {
	dir, err := os.MkdirTemp("", "bobbin-run-")
	if err != nil {
		return 1, err
	}
	end, err := cluster.EndWithThisProcess(dir)
	if err != nil {
		return 1, errors.Join(err, os.RemoveAll(dir)) // no test has run
	}
	if err := os.Setenv(RunVariable, dir); err != nil {
		return 1, errors.Join(err, end(), os.RemoveAll(dir))
	}
	code = m.Run()
	if err := end(); err != nil {
		return 1, err
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "logs of the clusters: %s\n", filepath.Join(dir, "*", "logs"))
		return code, nil
	}
	return code, errors.Join(os.RemoveAll(dir), os.Unsetenv(RunVariable))
}
