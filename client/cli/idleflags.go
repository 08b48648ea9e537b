package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// idle are flags of a command that have no effect beside other flags.
type idle struct {
	flags []string // names of flags
	why   string   // why they have no effect, and the remedy; %s stands for the flags
}

// idleOn are the flags of run that have no effect on a target.
func idleOn(target string) idle {
	var cluster []string // flags that describe a new cluster
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

// checkEffect refuses flags of run that have no effect on its target, because their user expects an effect. It
// allows options without effect: one file of options serves all targets.
func checkEffect(c *cli.Context, cfg config.Config) error {
	target := cfg.String(config.ExecutionTarget)
	none := idleOn(target)
	if c.String(flagMaster) == masterOnYARN && target != config.TargetLocal { // this value of -m chose the target
		none.flags = slices.DeleteFunc(none.flags, func(name string) bool { return name == flagMaster })
	}
	if !cfg.IsSet(config.ExecutionTarget) {
		target += " (no target is named)"
	}
	return none.refuse(c, "-t "+target)
}

// refuse refuses those of the flags that the command line sets. with is the flag beside which they have no
// effect.
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

// checkStarts refuses flags of session start that have no effect because another flag starts no session.
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

// checkOneMeant refuses a command line that names an application both by its id and by an address.
func checkOneMeant(c *cli.Context) error {
	if address := masterAddress(c); address != "" && c.IsSet(flagApplication) {
		return fmt.Errorf("%w: -m %s and -id %s both name an application: leave one of them out", ErrUsage, address, c.String(flagApplication))
	}
	return nil
}

// shortest is the shortest form of a flag of a command.
func shortest(c *cli.Context, name string) string {
	for _, flag := range c.Command.Flags {
		if names := flag.Names(); slices.Contains(names, name) {
			return "-" + slices.MinFunc(names, func(a, b string) int { return len(a) - len(b) })
		}
	}
	return dashed(name)
}
