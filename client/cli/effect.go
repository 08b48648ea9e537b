package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// idle is what a target of run does not look at.
type idle struct {
	flags []string // names of flags
	why   string   // and what to do about them; %s stands for them
}

// idleOn are the flags of run that mean nothing to a target.
func idleOn(target string) idle {
	var cluster []string // flags of a cluster to start
	for _, f := range deploymentFlagsOfRun() {
		cluster = append(cluster, f.name)
	}
	running := []string{flagApplication, flagMaster}
	switch target {
	case targetLocal:
		return idle{
			slices.Concat([]string{flagDetached, flagAttachedExit}, running, cluster),
			"which runs jobs in the program's own process: leave %s out, or name a target such as -t " + targetYARNPerJob,
		}
	case targetYARNSession, targetRemote:
		return idle{cluster, "which runs jobs in a cluster that runs already: leave %[1]s out, or give %[1]s to bobbin session start"}
	case targetYARNPerJob, targetApplication:
		return idle{running, "which starts a cluster of its own: leave %s out, or use -t " + targetYARNSession}
	}
	return idle{}
}

// checkEffect refuses flags of run that count for nothing on its target: their user expects
// something of them. Options are left alone, as a file of them is for all targets.
func checkEffect(c *cli.Context, cfg config.Config) error {
	target := cfg.String(config.ExecutionTarget)
	none := idleOn(target)
	var given []string
	for _, name := range none.flags {
		if c.IsSet(name) && (name != flagMaster || c.String(name) != masterOnYARN || target == targetLocal) {
			given = append(given, shortest(c, name))
		}
	}
	if given == nil {
		return nil
	}
	if !cfg.IsSet(config.ExecutionTarget) {
		target += " (no target is named)"
	}
	verb, them := "has", "it"
	if len(given) > 1 {
		verb, them = "have", "them"
	}
	why := fmt.Sprintf(none.why, them)
	return fmt.Errorf("%w: %s %s no effect with -t %s, %s", ErrUsage, strings.Join(given, ", "), verb, target, why)
}

// shortest is a flag of a command as people mostly write it.
func shortest(c *cli.Context, name string) string {
	for _, flag := range c.Command.Flags {
		if names := flag.Names(); slices.Contains(names, name) {
			return "-" + slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
		}
	}
	return dashed(name)
}
