package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/version"
)

func versionCommand(bind binder, release string, build version.Build) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version and the commit of this binary",
		Description: `A program works with this bobbin if both have the same protocol number.

  bobbin version
  bobbin version -o json`,
		Flags: []cli.Flag{outputFlag()},
		Action: bind(func(_ context.Context, c *call) error {
			if err := noArguments(c.line); err != nil {
				return err
			}
			platform := runtime.GOOS + "/" + runtime.GOARCH
			line := fmt.Sprintf("bobbin %s (protocol %d, %s, %s, %s)", release, jobgraph.ProtocolVersion, runtime.Version(), platform, build)
			return c.say(line, map[string]any{
				"version": release, "protocol": jobgraph.ProtocolVersion, "go": runtime.Version(), "platform": platform,
				"commit": build.Commit, "date": build.Date, "modified": build.Modified,
			})
		}),
	}
}
