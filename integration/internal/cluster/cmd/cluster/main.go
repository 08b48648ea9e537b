// Command cluster starts, stops and describes a real Hadoop on this machine, for a person or a
// script. scripts/cluster builds and runs it. It composes package cluster and adds no functions. It
// starts no goroutines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args, os.Stdout, os.Stderr)
	if code != 0 && ctx.Err() != nil {
		code = 130 // the exit code that shells report for a command ended by Ctrl-C
	}
	stop()
	os.Exit(code)
}

// run is the program: exit code 0, or 1 with one line on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name:      "cluster",
		Usage:     "run a real HDFS and YARN on this machine",
		Writer:    stdout,
		ErrWriter: stderr,
		Commands: []*cli.Command{
			{
				Name:   "up",
				Usage:  "start a cluster, and wait until it is healthy",
				Flags:  append([]cli.Flag{dirFlag()}, sizeFlags()...),
				Action: up,
			},
			{
				Name:   "fetch",
				Usage:  "download Hadoop's jars, about 100 MB",
				Flags:  []cli.Flag{versionFlag(), allFlag()},
				Action: fetch,
			},
			{
				Name:   "archive",
				Usage:  "make an archive of Hadoop's classes, 100 MB, so that clusters start sooner",
				Flags:  []cli.Flag{versionFlag(), allFlag()},
				Action: archive,
			},
			{Name: "down", Usage: "stop a cluster and remove its data", Flags: []cli.Flag{dirFlag()}, Action: down},
			{Name: "status", Usage: "print the addresses of a running cluster", Flags: []cli.Flag{dirFlag()}, Action: status},
			{Name: "env", Usage: "print shell commands that set HADOOP_CONF_DIR to a cluster's configuration", Flags: []cli.Flag{dirFlag()}, Action: env},
			{
				Name:            "fs",
				Usage:           "run one of Hadoop's file commands on a cluster: cluster fs [--dir FOLDER] -ls /",
				SkipFlagParsing: true, // the flags are FsShell's
				Action:          fs,
			},
		},
		ExitErrHandler: func(*cli.Context, error) {}, // main exits
	}
	if err := app.RunContext(ctx, withProtection(args)); err != nil {
		fmt.Fprintln(stderr, "cluster:", err)
		return 1
	}
	return 0
}

func dirFlag() cli.Flag {
	return &cli.StringFlag{Name: "dir", Usage: "the cluster's `FOLDER`", Value: defaultDir(), DefaultText: "bobbin/cluster in the user's cache directory"}
}

func sizeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "nodemanagers", Usage: "`NUMBER` of NodeManagers", Value: 2},
		&cli.IntFlag{Name: "memory", Usage: "`MB` that each NodeManager offers", Value: 4096},
		&cli.IntFlag{Name: "vcores", Usage: "`NUMBER` of cores that each NodeManager offers", Value: 8},
		versionFlag(),
		&cli.StringSliceFlag{Name: "user", Usage: "make a home folder on HDFS for the user `NAME`; may be repeated"},
		&cli.StringFlag{Name: "kerberos", Usage: "make the cluster secure, with this `PROTECTION` of calls and data: authentication (the default), integrity or privacy"},
		&cli.BoolFlag{Name: "ha", Usage: "start two ResourceManagers and ZooKeeper"},
		&cli.BoolFlag{Name: "namenode-ha", Usage: "start two NameNodes; the first one is active"},
		&cli.BoolFlag{Name: "other-hdfs", Usage: "start a second HDFS, hdfs://" + cluster.OtherNameservice + "/"},
		&cli.StringSliceFlag{Name: "yarn", Usage: "add `PROPERTY=VALUE` to yarn-site.xml; may be repeated"},
		&cli.StringSliceFlag{Name: "hdfs", Usage: "add `PROPERTY=VALUE` to hdfs-site.xml; may be repeated"},
	}
}

func versionFlag() cli.Flag {
	return &cli.StringFlag{Name: "version", Usage: "Hadoop `RELEASE`", Value: artifacts.DefaultVersion, EnvVars: []string{cluster.VersionVariable}}
}

func defaultDir() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "" // up then asks for --dir
	}
	return filepath.Join(cache, "bobbin", "cluster")
}

func up(c *cli.Context) error {
	yarn, err := properties(c, "yarn")
	if err != nil {
		return err
	}
	hdfs, err := properties(c, "hdfs")
	if err != nil {
		return err
	}
	var secure *cluster.Kerberos
	if c.IsSet("kerberos") {
		secure = &cluster.Kerberos{Protection: c.String("kerberos")}
	}
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	running, err := cluster.StartDetached(c.Context, cluster.Config{
		Dir:          c.String("dir"),
		Version:      c.String("version"),
		NodeManagers: c.Int("nodemanagers"),
		MemoryMB:     c.Int("memory"),
		VCores:       c.Int("vcores"),
		Users:        c.StringSlice("user"),
		HA:           c.Bool("ha"),
		NameNodeHA:   c.Bool("namenode-ha"),
		OtherHDFS:    c.Bool("other-hdfs"),
		Kerberos:     secure,
		YARN:         yarn,
		HDFS:         hdfs,
		Log:          log,
	})
	if err != nil {
		return err
	}
	describe(c.App.Writer, running)
	return running.Close()
}

// properties returns the properties that a flag sets.
func properties(c *cli.Context, flag string) (map[string]string, error) {
	given := map[string]string{}
	for _, p := range c.StringSlice(flag) {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("--%s %s: want PROPERTY=VALUE", flag, p)
		}
		given[name] = value
	}
	return given, nil
}

func allFlag() cli.Flag {
	return &cli.BoolFlag{Name: "all", Usage: "also for " + strings.Join(artifacts.Releases(), ", ")}
}

// versions returns the versions that --version and --all select.
func versions(c *cli.Context) []string {
	versions := []string{c.String("version")}
	if c.Bool("all") {
		versions = append(versions, artifacts.Releases()...)
		slices.Sort(versions)
		versions = slices.Compact(versions)
	}
	return versions
}

func fetch(c *cli.Context) error {
	for _, version := range versions(c) {
		jars, err := artifacts.Fetch(c.Context, version)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.App.Writer, "hadoop %s: %s\n", jars.Version, jars.Dir); err != nil {
			return err
		}
		if !c.Bool("all") || jars.Version != artifacts.DefaultVersion {
			continue
		}
		if _, err := jars.JobHistory(c.Context); err != nil { // a test follows links to it
			return err
		}
	}
	return nil
}

func archive(c *cli.Context) error {
	log := logrus.New()
	log.SetOutput(c.App.ErrWriter)
	for _, version := range versions(c) {
		if err := cluster.MakeArchive(c.Context, version, log); err != nil {
			return err
		}
	}
	return nil
}

func down(c *cli.Context) error {
	err := cluster.Down(c.String("dir"))
	if errors.Is(err, cluster.ErrNotRunning) {
		fmt.Fprintln(c.App.Writer, "no cluster in", c.String("dir"))
		return nil
	}
	return err
}

func status(c *cli.Context) error {
	running, err := cluster.Attach(c.Context, c.String("dir"))
	if err != nil {
		return err
	}
	describe(c.App.Writer, running)
	return running.Close()
}

func env(c *cli.Context) error {
	running, err := cluster.Attach(c.Context, c.String("dir"))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "export HADOOP_CONF_DIR=%s\n", quote(running.ConfDir()))
	if err == nil && running.Secure() {
		_, err = fmt.Fprintf(c.App.Writer, "export KRB5_CONFIG=%s\n", quote(running.Krb5Conf()))
	}
	return errors.Join(err, running.Close())
}

// fs runs Hadoop's FsShell. FsShell's flags begin with one dash, ours with two. --dir may come
// first.
func fs(c *cli.Context) error {
	dir, args := folderArgument(c.Args().Slice())
	running, err := cluster.Attach(c.Context, dir)
	if err != nil {
		return err
	}
	shell := running.Command(c.Context, cluster.FsShell, args...)
	shell.Stdin, shell.Stdout, shell.Stderr = os.Stdin, c.App.Writer, c.App.ErrWriter
	if user := os.Getenv("HADOOP_USER_NAME"); user != "" {
		shell.Env = append(shell.Env, "HADOOP_USER_NAME="+user)
	}
	if cache := os.Getenv("KRB5CCNAME"); cache != "" {
		shell.Env = append(shell.Env, "KRB5CCNAME="+cache)
	}
	if err = shell.Run(); err != nil { // FsShell has printed the reason
		err = fmt.Errorf("fs %s: %w", strings.Join(args, " "), err)
	}
	return errors.Join(err, running.Close())
}

// withProtection adds the default value to a --kerberos without one.
func withProtection(args []string) []string {
	i := slices.Index(args, "--kerberos")
	if i < 0 || i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
		return args
	}
	return slices.Insert(slices.Clone(args), i+1, "authentication")
}

// folderArgument takes a leading "--dir FOLDER" or "--dir=FOLDER" off the arguments.
func folderArgument(args []string) (dir string, rest []string) {
	switch {
	case len(args) > 1 && args[0] == "--dir":
		return args[1], args[2:]
	case len(args) > 0 && strings.HasPrefix(args[0], "--dir="):
		return strings.TrimPrefix(args[0], "--dir="), args[1:]
	}
	return defaultDir(), args
}

// quote quotes a text as one word for the shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func describe(w io.Writer, c *cluster.Cluster) {
	fmt.Fprintf(w, `hadoop           %s
resourcemanager  %s, http://%s
namenode         hdfs://%s, http://%s
nodemanagers     %s
logs             %s
HADOOP_CONF_DIR  %s
`, c.Version(), c.RMAddress(), c.RMWebAddress(), c.NameNodeAddress(), c.NameNodeWebAddress(),
		strings.Join(c.NodeManagers(), ", "), c.LogDir(), c.ConfDir())
	if c.Secure() {
		fmt.Fprintf(w, "KRB5_CONFIG      %s\nkeytab           %s\n", c.Krb5Conf(), c.Keytab("alice"))
	}
}
