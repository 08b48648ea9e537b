package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// idle are flags that a command does not look at, as others are.
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
	case config.TargetLocal:
		return idle{
			slices.Concat([]string{flagDetached, flagAttachedExit}, running, cluster),
			"which runs jobs in the program's own process: leave %s out, or name a target such as -t " + config.TargetPerJob,
		}
	case config.TargetSession, config.TargetRemote:
		return idle{cluster, "which runs jobs in a cluster that runs already: leave %[1]s out, or give %[1]s to bobbin session start"}
	case config.TargetPerJob, config.TargetApplication:
		return idle{running, "which starts a cluster of its own: leave %s out, or use -t " + config.TargetSession}
	}
	return idle{}
}

// checkEffect refuses flags of run that count for nothing on its target: their user expects
// something of them. Options are left alone, as a file of them is for all targets.
func checkEffect(c *cli.Context, cfg config.Config) error {
	target := cfg.String(config.ExecutionTarget)
	none := idleOn(target)
	if c.String(flagMaster) == masterOnYARN && target != config.TargetLocal { // it has chosen the target
		none.flags = slices.DeleteFunc(none.flags, func(name string) bool { return name == flagMaster })
	}
	if !cfg.IsSet(config.ExecutionTarget) {
		target += " (no target is named)"
	}
	return none.refuse(c, "-t "+target)
}

// refuse refuses those of the flags that a command line gives. with says beside what they
// have no effect.
func (i idle) refuse(c *cli.Context, with string) error {
	var given []string
	for _, name := range i.flags {
		if c.IsSet(name) {
			given = append(given, shortest(c, name))
		}
	}
	if given == nil {
		return nil
	}
	verb, them := "has", "it"
	if len(given) > 1 {
		verb, them = "have", "them"
	}
	return fmt.Errorf("%w: %s %s no effect with %s, %s", ErrUsage, strings.Join(given, ", "), verb, with, fmt.Sprintf(i.why, them))
}

// checkStarts refuses flags that have no effect where another flag tells session start to start
// none.
func checkStarts(c *cli.Context) error {
	none := idle{why: "which starts no session: leave %s out"}
	for _, f := range deploymentFlags() {
		none.flags = append(none.flags, f.name)
	}
	if c.Bool("query") {
		none.flags = append(none.flags, flagDetached, flagApplication)
		return none.refuse(c, "-q")
	}
	return none.refuse(c, "-id")
}

// checkOneMeant refuses a command line that names an application twice, by its id and by an
// address.
func checkOneMeant(c *cli.Context) error {
	if address := masterAddress(c); address != "" && c.IsSet(flagApplication) {
		return fmt.Errorf("%w: -m %s and -id %s both name an application: leave one of them out", ErrUsage, address, c.String(flagApplication))
	}
	return nil
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
