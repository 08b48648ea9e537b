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
		Usage: "print the version, and the commit that it was built of",
		Description: `A program and bobbin go together where their protocol is the same.

  bobbin version -o json`,
		Flags: []cli.Flag{outputFlag()},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			platform := runtime.GOOS + "/" + runtime.GOARCH
			line := fmt.Sprintf("bobbin %s (protocol %d, %s, %s, %s)", p.Version, jobgraph.ProtocolVersion, runtime.Version(), platform, p.Build)
			return say(c, p, line, map[string]any{
				"version": p.Version, "protocol": jobgraph.ProtocolVersion, "go": runtime.Version(), "platform": platform,
				"commit": p.Build.Commit, "date": p.Build.Date, "modified": p.Build.Modified,
			})
		},
	}
}
