package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
)

func statusCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "print what an application has and does",
		Description: "Prints its workers, slots and jobs, in numbers, and the programs that REST runs beside\n" +
			"the master of a session, each with its id.\n\n  bobbin status -id application_1700000000000_0001",
		Flags:  slices.Concat(meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: func(c *cli.Context) error { return withCluster(c, p, status) },
	}
}

func status(c *cli.Context, p Process, master *reached, asJSON bool) error {
	o, err := master.Overview(c.Context)
	if err != nil {
		return err
	}
	programs, err := master.Drivers(c.Context)
	if err != nil {
		return err
	}
	blocked, err := master.Blocklist(c.Context)
	if err != nil {
		return err
	}
	report, err := master.report(c.Context)
	if err != nil && !errors.Is(err, errNoYARN) {
		return err
	}
	if asJSON {
		told := map[string]any{
			"application": master.application(), "version": o.Version, "taskManagers": o.Workers, "slots": o.Slots, "slotsFree": o.FreeSlots,
			"jobsRunning": o.Running, "jobsFinished": o.Finished, "jobsCanceled": o.Canceled, "jobsFailed": o.Failed,
			"drivers": driversOf(programs),
		}
		if err == nil {
			maps.Copy(told, map[string]any{
				"name": report.Name, "state": report.State, "queue": report.Queue, "user": report.User,
				"started": report.Started.UnixMilli(), "trackingUrl": report.TrackingURL,
			})
		}
		told["blockedNodes"] = blockedOf(blocked)
		return json.NewEncoder(p.Stdout).Encode(told)
	}
	facts := terminal.Facts{{"application", master.String()}}
	if err == nil {
		facts = terminal.Facts{
			{"application", fmt.Sprintf("%s (%s)", master, report.Name)},
			{"state", fmt.Sprintf("%s since %s, in queue %s", report.State, report.Started.Local().Format(time.DateTime), report.Queue)},
		}
	}
	facts = append(facts, terminal.Facts{
		{"TaskExecutors", fmt.Sprint(o.Workers)},
		{"slots", fmt.Sprintf("%d, %d of them free", o.Slots, o.FreeSlots)},
		{"jobs", fmt.Sprintf("%d running, %d finished, %d canceled, %d failed", o.Running, o.Finished, o.Canceled, o.Failed)},
	}...)
	for _, d := range programs {
		facts = append(facts, [2]string{"program", fmt.Sprintf("%s (%s) since %s, %d MB, jobs submitted: %d", d.Name, d.ID, d.Started.Local().Format(time.DateTime), d.MemoryMB, d.Jobs)})
	}
	facts = append(facts, blockedFacts(blocked)...)
	if err == nil {
		facts = append(facts, [2]string{"web page", report.TrackingURL})
	}
	return facts.Write(p.Stdout)
}

// runningDriver is a program beside the master, as -o json has it.
type runningDriver struct {
	ID       string `json:"driver"`
	Name     string `json:"name"`
	Started  int64  `json:"started"` // ms since 1970
	MemoryMB int    `json:"memoryMB"`
	Jobs     int    `json:"jobs"` // that it has submitted
}

func driversOf(programs []client.Driver) []runningDriver {
	drivers := make([]runningDriver, len(programs))
	for i, d := range programs {
		drivers[i] = runningDriver{d.ID, d.Name, d.Started.UnixMilli(), d.MemoryMB, d.Jobs}
	}
	return drivers
}
