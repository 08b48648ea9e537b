package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Switches of commands that start something.
const (
	flagDetached     = "detached"
	flagAttachedExit = "shutdownOnAttachedExit"
)

// optionFlag is a flag that sets an option.
type optionFlag struct {
	name    string
	aliases []string // short ones
	usage   string
	key     config.Key
	several bool // it may be repeated, for an option that is a list
}

// deploymentFlags describe the cluster that a command starts. They are the flags of Flink's yarn-session.sh.
func deploymentFlags() []optionFlag {
	return []optionFlag{
		{name: "jobManagerMemory", aliases: []string{"jm"}, usage: "`SIZE` of the ApplicationMaster's container, such as 1g; a bare number is in MB", key: config.JobManagerProcessSize},
		{name: "taskManagerMemory", aliases: []string{"tm"}, usage: "`SIZE` of each worker's container, such as 4g; a bare number is in MB", key: config.TaskManagerProcessSize},
		{name: "slots", aliases: []string{"s"}, usage: "`N` slots in each worker", key: config.TaskSlots},
		{name: "name", aliases: []string{"nm"}, usage: "`NAME` of the application in YARN", key: config.YarnApplicationName},
		{name: "queue", aliases: []string{"qu"}, usage: "YARN `QUEUE` of the application", key: config.YarnApplicationQueue},
		{name: "applicationType", aliases: []string{"at"}, usage: "`TYPE` of the application in YARN", key: config.YarnApplicationType},
		{name: "nodeLabel", aliases: []string{"nl"}, usage: "use only nodes with YARN's node label `LABEL`", key: config.YarnNodeLabel},
		{name: "ship", aliases: []string{"t"}, usage: "copy `FILE` or directory into each container; repeat the flag for more", key: config.YarnShipFiles, several: true},
		{name: "jar", aliases: []string{"j"}, usage: "`FILE` to run in the cluster as bobbin, instead of this binary", key: config.YarnDistribution},
		{name: "zookeeperNamespace", aliases: []string{"z"}, usage: "`NAME` of the high availability data; no effect: the application's id names it", key: config.HighAvailabilityClusterID},
	}
}

// deploymentFlagsOfRun are deploymentFlags without the aliases -t and -j, which have another meaning for a
// program.
func deploymentFlagsOfRun() []optionFlag {
	list := deploymentFlags()
	for i := range list {
		list[i].aliases = slices.DeleteFunc(list[i].aliases, func(alias string) bool { return alias == "t" || alias == "j" })
	}
	return list
}

// targetFlag says where a program's jobs run.
func targetFlag() optionFlag {
	return optionFlag{name: "target", aliases: []string{"t"}, usage: "`TARGET`: yarn-session, yarn-per-job, yarn-application, remote or local", key: config.ExecutionTarget}
}

func parallelismFlag() optionFlag {
	return optionFlag{name: "parallelism", aliases: []string{"p"}, usage: "`N` subtasks of each operator that sets no number itself", key: config.ParallelismDefault}
}

// flags converts flags for the flag package. Their usage names their options.
func flags(list ...optionFlag) []cli.Flag {
	all := make([]cli.Flag, len(list))
	for i, f := range list {
		usage := f.usage + " (" + f.key.Name() + ")"
		if f.several {
			all[i] = &cli.StringSliceFlag{Name: f.name, Aliases: f.aliases, Usage: usage}
		} else {
			all[i] = &cli.StringFlag{Name: f.name, Aliases: f.aliases, Usage: usage}
		}
	}
	return all
}

// flagLayers are the options of the flags that are set.
func flagLayers(c *cli.Context, list ...optionFlag) []config.Layer {
	var layers []config.Layer
	for _, f := range list {
		if c.IsSet(f.name) {
			layers = append(layers, config.Layer{Source: dashed(f.name), Values: map[string]string{f.key.Name(): f.text(c)}})
		}
	}
	return layers
}

// text is a flag's value in the form of its option. As with Flink's -jm and -tm, a size without unit is in MB.
func (f optionFlag) text(c *cli.Context) string {
	if f.several {
		return strings.Join(c.StringSlice(f.name), ";")
	}
	text := c.String(f.name)
	if _, isSize := f.key.(config.MemoryKey); isSize {
		if _, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil {
			text += "m"
		}
	}
	return text
}

// switchLayers are the options of the switches that are set.
func switchLayers(c *cli.Context) []config.Layer {
	var layers []config.Layer
	give := func(name string, key config.BoolKey, value bool) {
		if c.Bool(name) {
			layers = append(layers, config.Layer{Source: dashed(name), Values: map[string]string{key.Name(): strconv.FormatBool(value)}})
		}
	}
	give(flagDetached, config.ExecutionAttached, false)
	give(flagAttachedExit, config.ShutdownOnAttachedExit, true)
	return layers
}

// yarnName is the name of a flag of yarn-session.sh that the user writes with Flink's prefix: "y" before its
// short form, or "yarn" before its long form. It is "" for other flags.
func yarnName(name string) string {
	list := append(deploymentFlags(), optionFlag{name: flagDetached, aliases: []string{"d"}}, optionFlag{name: flagApplication, aliases: []string{"id"}},
		optionFlag{name: "D", aliases: []string{"D"}}, optionFlag{name: "help", aliases: []string{"h"}})
	for _, f := range list {
		if long, found := strings.CutPrefix(name, "yarn"); found && long == f.name {
			return f.name
		}
		if short, found := strings.CutPrefix(name, "y"); found && slices.Contains(f.aliases, short) {
			return f.name
		}
	}
	return ""
}

// foreign explains why Bobbin does not have a flag of Flink; "" for other flags.
func foreign(name string) string {
	switch name {
	case "c", "class", "C", "classpath", "j", "jarfile":
		return "is for JVM programs, and a Bobbin program is one executable file: leave the flag out"
	case "py", "python", "pyfs", "pyFiles", "pym", "pyModule", "pyreq", "pyRequirements", "pyarch", "pyArchives", "pyexec", "pyExecutable", "pyclientexec", "pyClientExecutable", "pypath", "pythonpath":
		return "is for Python programs, and a Bobbin program is one executable file: leave the flag out"
	case "fromSavepoint", "type", "n", "allowNonRestoredState", "cm", "claimMode", "rm", "restoreMode":
		return "is about savepoints, which are not supported yet: leave the flag out"
	case "a", "arguments":
		return "is not needed: write the program's arguments after the program"
	case "e", "executor":
		return "is an old name for -t: use -t"
	case "v", "verbose":
		return "is not supported: -D logging.level=debug logs more, and bobbin --version prints the version"
	case "yq", "yarnquery":
		return "prints the nodes and queues of YARN: use bobbin session query"
	}
	return ""
}
