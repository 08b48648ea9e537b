package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "container", Usage: "only the logs of container `ID`"},
			&cli.StringFlag{Name: "file", Usage: "only the log `NAME`, such as jobmanager.log"},
			definitionFlag(),
		},
		Action: func(c *cli.Context) error { return printLogs(c, p) },
	}
}

// printLogs prints the logs on the nodes while the application runs, and the
// aggregated ones after.
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
	visit := func(l logs.Log, content io.Reader) error {
		if wanted := c.String("container"); wanted != "" && wanted != l.Container {
			return nil
		}
		if wanted := c.String("file"); wanted != "" && wanted != l.Name {
			return nil
		}
		fmt.Fprintf(p.Stdout, "==== %s of %s on %s\n", l.Name, l.Container, l.Node)
		_, err := io.Copy(p.Stdout, content)
		fmt.Fprintln(p.Stdout)
		return err
	}
	report, err := cluster.YARN.ApplicationReport(c.Context, id)
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) { // YARN has forgotten it, HDFS may not have
		return logs.Aggregated(c.Context, cluster.Files, cluster.Conf, cluster.User, id, visit)
	}
	if err != nil {
		return err
	}
	if report.State.Terminal() {
		return logs.Aggregated(c.Context, cluster.Files, cluster.Conf, report.User, id, visit)
	}
	return liveLogs(c, cluster, report, visit)
}

func liveLogs(c *cli.Context, cluster *client.Cluster, report records.ApplicationReport, visit logs.Visit) error {
	containers, err := cluster.YARN.Containers(c.Context, report.Attempt)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		return fmt.Errorf("%s has no containers yet: it is %s", report.ID, report.State)
	}
	web := &http.Client{Timeout: time.Minute}
	defer web.CloseIdleConnections()
	var faults []error
	for _, container := range containers {
		if err := logs.Live(c.Context, web, container, cluster.User, visit); err != nil {
			faults = append(faults, err) // the others' logs may be there all the same
		}
	}
	return errors.Join(faults...)
}
