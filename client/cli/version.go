package cli

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

func versionCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			_, err := fmt.Fprintf(p.Stdout, "bobbin %s (protocol %d, %s, %s/%s)\n",
				p.Version, jobgraph.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
