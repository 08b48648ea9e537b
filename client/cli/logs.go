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
	"github.com/bobbin-yarn/bobbin/client/internal/logs"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func logsCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the logs of an application's containers",
		ArgsUsage: "APPLICATION",
		Description: `While the application runs, the command reads its logs from the nodes. After the end of the
application it reads them from HDFS, where YARN collects them within a few seconds. With -f
it also prints new lines, until the application ends. The command prints logs unchanged:
there is no -o json.

  bobbin logs application_1700000000000_0001
  bobbin logs -f --file jobmanager.log application_1700000000000_0001`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print new lines until the application or the container ends"},
			&cli.StringFlag{Name: "container", Usage: "print only the logs of container `ID`"},
			&cli.StringFlag{Name: "file", Usage: "print only the log `NAME`, for example jobmanager.log"},
		}, clusterFlags()...),
		Action: bind(printLogs),
	}
}

func printLogs(ctx context.Context, c *call) (err error) {
	id, err := applicationArgument(c.line)
	if err != nil {
		return err
	}
	name := launch.ContainerOf(ids.ResourceID(c.line.String("container"))) // a worker's name will do
	if name != "" {
		if _, err := records.ParseContainerID(name); err != nil {
			return fmt.Errorf("%w: %q is no container id, such as container_1700000000000_0001_01_000001", ErrUsage, name)
		}
	}
	cluster, _, done, err := c.cluster(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	wanted := logFilter{out: c.Out, container: name, file: c.line.String("file")}
	report, err := cluster.YARN.ApplicationReport(ctx, id)
	switch {
	case errors.Is(err, yarnrpc.ErrApplicationNotFound): // YARN has forgotten it, but HDFS may have its logs
		err = logs.Aggregated(ctx, cluster.Files, cluster.Conf, cluster.User, id, wanted.visit)
		if errors.Is(err, logs.ErrNotAggregated) {
			return fmt.Errorf("%s is not known to YARN, and HDFS has no logs of it for user %s: bobbin applications --all lists the known applications", id, cluster.User)
		}
	case err != nil:
	case report.State.Terminal():
		err = collectedLogs(ctx, c.Err, cluster, report, wanted.visit)
	case c.line.Bool("follow"):
		web, closed := nodeWeb(cluster)
		defer closed()
		f := following{cluster: cluster, wanted: &wanted, stderr: c.Err, known: make(map[records.ContainerID]records.ContainerReport), silent: make(map[records.ContainerID]time.Time)}
		f.follower = logs.Follower{Web: web, Wants: wanted.wants}
		err = f.follow(ctx, report)
	default:
		err = liveLogs(ctx, cluster, report, &wanted)
		if !wanted.printed { // if it has just ended, its nodes have no logs
			if now, again := cluster.YARN.ApplicationReport(ctx, id); again == nil && now.State.Terminal() {
				err = collectedLogs(ctx, c.Err, cluster, now, wanted.visit)
			}
		}
	}
	if err != nil {
		return err
	}
	return wanted.missed(id)
}

// collectionTime is how long users wait for YARN to collect the logs of an application that has just ended.
// Collection usually takes a few seconds.
const collectionTime = 30 * time.Second

// awaitCollection waits until YARN has collected an application's logs on HDFS, at most collectionTime. ask
// gets YARN's report.
func awaitCollection(ctx context.Context, say *progress.Printer, report records.ApplicationReport, ask func(context.Context, records.ApplicationID) (records.ApplicationReport, error)) error {
	defer say.Finish()
	wait := progress.Wait{Since: time.Now()}
	deadline := time.NewTimer(collectionTime)
	defer deadline.Stop()
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for {
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
		say.Waiting(&wait, fmt.Sprintf("%s waits for YARN to collect its logs", report.ID),
			fmt.Sprintf("log aggregation is %s. After %s this command prints the logs that are there", report.Logs, collectionTime))
		select {
		case <-ticker.C:
		case <-deadline.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var err error
		if report, err = ask(ctx, report.ID); err != nil {
			return err
		}
	}
}

// collectedLogs visits the logs of an application that has ended.
func collectedLogs(ctx context.Context, stderr io.Writer, cluster *client.Cluster, report records.ApplicationReport, visit logs.Visit) error {
	err := awaitCollection(ctx, progress.New(stderr), report, cluster.YARN.ApplicationReport)
	if err == nil {
		err = logs.Aggregated(ctx, cluster.Files, cluster.Conf, report.User, report.ID, visit)
	}
	if errors.Is(err, logs.ErrNotAggregated) && report.Usage.MemoryMBSeconds == 0 {
		return fmt.Errorf("%s has no logs: it had no container (%s)", report.ID, report.State)
	}
	return err
}

func liveLogs(ctx context.Context, cluster *client.Cluster, report records.ApplicationReport, wanted *logFilter) error {
	containers, err := cluster.YARN.Containers(ctx, report.Attempt)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		return fmt.Errorf("%s has no containers yet: it is %s", report.ID, report.State)
	}
	web, closed := nodeWeb(cluster)
	defer closed()
	if found, err := endedContainer(ctx, cluster, web, containers, wanted); found || err != nil {
		return err
	}
	var faults []error
	for _, container := range containers {
		if err := logs.Live(ctx, web, container, wanted.visit); err != nil {
			faults = append(faults, err) // the other containers' logs may be readable
		}
	}
	return errors.Join(faults...)
}

// endedContainer visits the logs of the wanted container if the container does not run any more. YARN does not
// report where an ended container ran, but that node keeps the logs while the application runs. So
// endedContainer asks all running nodes. A node without the logs redirects to the log server, which
// endedContainer asks once, at the end.
func endedContainer(ctx context.Context, cluster *client.Cluster, web logs.Web, running []records.ContainerReport, wanted *logFilter) (found bool, err error) {
	if wanted.container == "" || slices.ContainsFunc(running, func(r records.ContainerReport) bool { return r.ID.String() == wanted.container }) {
		return false, nil
	}
	id, err := records.ParseContainerID(wanted.container)
	if err != nil {
		return false, err
	}
	nodes, err := cluster.YARN.ClusterNodes(ctx, records.NodeRunning)
	if err != nil {
		return false, err
	}
	visit := func(l logs.Log, content io.Reader) error {
		found = true // a node where the application had other containers lists no logs
		return wanted.visit(l, content)
	}
	onNodes := web
	onNodes.LogServer = ""
	for _, node := range nodes {
		at := records.ContainerReport{ID: id, Node: node.ID, NodeHTTPAddress: node.HTTPAddress}
		if err := logs.Live(ctx, onNodes, at, visit); found {
			return true, err
		}
	}
	if web.LogServer != "" {
		if err := logs.Served(ctx, web, id, visit); found || errors.Is(err, logs.ErrPlain) {
			return found, err
		}
	}
	return false, context.Cause(ctx)
}

// nodeWeb is a client of the nodes' web servers, until closed is called.
func nodeWeb(cluster *client.Cluster) (web logs.Web, closed func()) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute // a long log may take longer
	web = logs.WebOf(cluster.Conf, cluster.User, cluster.Login())
	web.Client = &http.Client{Transport: transport}
	return web, transport.CloseIdleConnections
}

// logFilter prints the logs that the command line asks for.
type logFilter struct {
	out             io.Writer
	container, file string // "": any
	printed         bool
	others          []string // names of other logs, or containers that have a log of this name
}

// wants tells whether the command line asks for a log.
func (f *logFilter) wants(container, name string) bool {
	if (f.container == "" || f.container == container) && (f.file == "" || f.file == name) {
		return true
	}
	other := container
	if f.file != "" && f.file != name {
		other = name
	}
	if !slices.Contains(f.others, other) {
		f.others = append(f.others, other)
	}
	return false
}

func (f *logFilter) visit(l logs.Log, content io.Reader) error {
	if !f.wants(l.Container, l.Name) {
		return nil
	}
	f.printed = true
	fmt.Fprintf(f.out, "==== %s of %s on %s\n", l.Name, l.Container, l.Node)
	_, err := io.Copy(f.out, content)
	fmt.Fprintln(f.out)
	return err
}

// missed is an error if the filter has printed nothing.
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
	return fmt.Errorf("%s has no such log; it has: %s%s", id, strings.Join(shown, ", "), more)
}
