package cli

import (
	"cmp"
	"context"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func applicationsCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "applications",
		Usage: "list the applications of YARN that wait or run",
		Description: `Lists the applications of all users and of all types, not only those of Bobbin.

  bobbin applications
  bobbin applications --all`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also list applications that have ended"},
			outputFlag(),
		}, clusterFlags()...),
		Action: bind(withYARN(applications)),
	}
}

func applications(ctx context.Context, c *call, cluster *client.Cluster, _ config.Config) error {
	filter := yarnclient.Filter{}
	if !c.line.Bool("all") {
		filter.States = []records.ApplicationState{
			records.ApplicationNew, records.ApplicationNewSaving, records.ApplicationSubmitted,
			records.ApplicationAccepted, records.ApplicationRunning,
		}
	}
	found, err := cluster.YARN.Applications(ctx, filter)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b records.ApplicationReport) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID.ID, b.ID.ID))
	})
	if c.json {
		return c.encode(applicationsJSON(found))
	}
	return printApplications(c.Out, found)
}

func printApplications(out io.Writer, found []records.ApplicationReport) error {
	table := terminal.Table{Columns: []terminal.Column{
		{Title: "application"},
		{Title: "name", Long: true},
		{Title: "type"},
		{Title: "user"},
		{Title: "queue", Long: true},
		{Title: "state"},
		{Title: "final"},
		{Title: "started"},
		{Title: "tracking URL", Below: true},
	}}
	for _, a := range found {
		table.Add(a.ID, a.Name, a.Type, a.User, a.Queue, a.State, a.FinalStatus, a.Started.Local().Format(time.DateTime), a.TrackingURL)
	}
	return table.Write(out)
}

func applicationsJSON(found []records.ApplicationReport) map[string]any {
	type application struct {
		ID          string `json:"application"`
		Name        string `json:"name"`
		Type        string `json:"type"`
		User        string `json:"user"`
		Queue       string `json:"queue"`
		State       string `json:"state"`
		FinalStatus string `json:"finalStatus"`
		Started     int64  `json:"started"` // ms since 1970
		TrackingURL string `json:"trackingUrl"`
		Diagnostics string `json:"diagnostics"`
	}
	list := make([]application, len(found))
	for i, a := range found {
		list[i] = application{
			a.ID.String(), a.Name, a.Type, a.User, a.Queue, string(a.State), string(a.FinalStatus),
			a.Started.UnixMilli(), a.TrackingURL, a.Diagnostics,
		}
	}
	return map[string]any{"applications": list}
}
