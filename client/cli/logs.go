package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func logsCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the logs of an application's containers",
		ArgsUsage: "APPLICATION",
		Description: `While the application runs, its logs come from the nodes as they are now; once it
has ended, from HDFS, where YARN collects them within a few seconds.

  bobbin logs --file jobmanager.log application_1700000000000_0001`,
		Flags: append(clusterFlags(),
			&cli.StringFlag{Name: "container", Usage: "only the logs of container `ID`"},
			&cli.StringFlag{Name: "file", Usage: "only the log `NAME`, such as jobmanager.log"}),
		Action: func(c *cli.Context) error { return printLogs(c, p) },
	}
}

func printLogs(c *cli.Context, p Process) (err error) {
	id, err := applicationArgument(c)
	if err != nil {
		return err
	}
	cluster, _, done, err := clusterOf(c, p)
	if err != nil {
		return err
	}
	defer done(&err)
	wanted := logFilter{out: p.Stdout, container: c.String("container"), file: c.String("file")}
	report, err := cluster.YARN.ApplicationReport(c.Context, id)
	switch {
	case errors.Is(err, yarnrpc.ErrApplicationNotFound): // YARN has forgotten it, HDFS may not have
		err = logs.Aggregated(c.Context, cluster.Files, cluster.Conf, cluster.User, id, wanted.visit)
		if errors.Is(err, logs.ErrNotAggregated) {
			return fmt.Errorf("%s is not known to YARN, and HDFS has no logs of it by user %s: bobbin applications --all lists those that YARN knows", id, cluster.User)
		}
	case err != nil:
	case report.State.Terminal():
		if err = awaitCollection(c.Context, p.Stderr, cluster, report); err == nil {
			err = logs.Aggregated(c.Context, cluster.Files, cluster.Conf, report.User, id, wanted.visit)
		}
		if errors.Is(err, logs.ErrNotAggregated) && report.Usage.MemoryMBSeconds == 0 {
			return fmt.Errorf("%s has no logs: it had no container (%s)", id, report.State)
		}
	default:
		err = liveLogs(c, cluster, report, wanted.visit)
	}
	if err != nil {
		return err
	}
	return wanted.missed(id)
}

// collectionTime is how long people wait for YARN to collect the logs of an
// application that has just ended; it mostly takes a few seconds.
const collectionTime = 30 * time.Second

// awaitCollection waits until YARN has collected an application's logs on HDFS.
// After collectionTime what is there must do.
func awaitCollection(ctx context.Context, stderr io.Writer, cluster *client.Cluster, report records.ApplicationReport) error {
	deadline := time.NewTimer(collectionTime)
	defer deadline.Stop()
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for told := false; ; told = true {
		if report.Usage.MemoryMBSeconds == 0 { // it never had a container
			return nil
		}
		switch report.Logs {
		case records.LogsDisabled:
			return fmt.Errorf("logs of %s are on its nodes only, under yarn.nodemanager.log-dirs: YARN does not collect them (yarn.log-aggregation-enable)", report.ID)
		case records.LogsNotStarted, records.LogsRunning, records.LogsRunningWithFailure:
		default:
			return nil
		}
		if !told {
			fmt.Fprintf(stderr, "YARN is collecting the logs of %s\n", report.ID)
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var err error
		if report, err = cluster.YARN.ApplicationReport(ctx, report.ID); err != nil {
			return err
		}
	}
}

func liveLogs(c *cli.Context, cluster *client.Cluster, report records.ApplicationReport, visit logs.Visit) error {
	containers, err := cluster.YARN.Containers(c.Context, report.Attempt)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		return fmt.Errorf("%s has no containers yet: it is %s", report.ID, report.State)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute // a long log may take longer
	defer transport.CloseIdleConnections()
	web := logs.Web{Client: &http.Client{Transport: transport}, User: cluster.User, Login: cluster.Login()}
	var faults []error
	for _, container := range containers {
		if err := logs.Live(c.Context, web, container, visit); err != nil {
			faults = append(faults, err) // the others' logs may be there all the same
		}
	}
	return errors.Join(faults...)
}

// logFilter prints the logs that are asked for.
type logFilter struct {
	out             io.Writer
	container, file string // "": any
	printed         bool
	others          []string // what there is beside: names of logs, or containers where the name fits
}

func (f *logFilter) visit(l logs.Log, content io.Reader) error {
	if f.container != "" && f.container != l.Container || f.file != "" && f.file != l.Name {
		other := l.Container
		if f.file != "" && f.file != l.Name {
			other = l.Name
		}
		if !slices.Contains(f.others, other) {
			f.others = append(f.others, other)
		}
		return nil
	}
	f.printed = true
	fmt.Fprintf(f.out, "==== %s of %s on %s\n", l.Name, l.Container, l.Node)
	_, err := io.Copy(f.out, content)
	fmt.Fprintln(f.out)
	return err
}

// missed is an error where the filter lets nothing through.
func (f *logFilter) missed(id records.ApplicationID) error {
	if f.printed {
		return nil
	}
	if len(f.others) == 0 {
		return fmt.Errorf("%s has no logs", id)
	}
	slices.Sort(f.others)
	const most = 20
	shown, more := f.others, ""
	if len(shown) > most {
		shown, more = shown[:most], fmt.Sprintf(" and %d more", len(shown)-most)
	}
	return fmt.Errorf("no such log of %s; there are: %s%s", id, strings.Join(shown, ", "), more)
}
