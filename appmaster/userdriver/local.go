package userdriver

import (
	"context"
	"io"
	"os"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
)

// Local is the machine of this process. It keeps programs' logs in a folder.
func Local(logDir string) Machine {
	return Machine{
		Start:   startLocal,
		OpenLog: func(name string) (io.WriteCloser, error) { return logging.OpenFile(logDir, name) },
		Measure: measureLocal,
	}
}

func startLocal(ctx context.Context, file string, arguments []string, o driver.Options, begun func(Child)) error {
	o.Begun = func(d *driver.Driver) { begun(d) }
	_, err := driver.Start(ctx, file, arguments, o)
	return err
}

func measureLocal(pids []int) (own config.Bytes, trees []config.Bytes) {
	for _, pid := range pids {
		trees = append(trees, procmem.OfTree(pid))
	}
	return procmem.OfProcess(os.Getpid()), trees
}
