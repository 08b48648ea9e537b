package clusters

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// runner is a package's tests: *testing.M.
type runner interface{ Run() int }

// Main runs a package's tests, for its TestMain, and returns the exit code. Where no run is named, the clusters that the
// tests start are this process's, and end with it, however it ends.
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
		return 1, errors.Join(err, os.RemoveAll(dir)) // nothing has run there
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
