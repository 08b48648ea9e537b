package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// heavyInterval is the time between two readings of what the containers use. Their memory is read at each heavyEach of
// them, because that walks all pages of a process, and would slow it down.
const (
	heavyInterval = 100 * time.Millisecond
	heavyEach     = 10
)

// heavy is a run of a large job. Of one without a cluster it has only the time, and the processor time of the job.
type heavy struct {
	command usage
	took    time.Duration // of the job: from the submission to its end, with the start of its containers
	cpu     time.Duration // of all containers
	peak    resident      // of all containers at one time
	written int64         // bytes that the containers wrote to disks
}

// contestant is a system that runs a large job in turns with others.
type contestant struct {
	name  string
	batch batch // nil: without a cluster, or missing
	runs  []heavy
	// smallest is the size of the smallest worker with which it finishes, in MB; 0: not known.
	smallest int
}

// turn runs the job of a contestant once, and checks its output. A contestant without a job has no turn.
func (r *rig) turn(ctx context.Context, c *contestant, output string, workerMB int, check func() error) error {
	if c.batch == nil {
		return nil
	}
	run, err := r.heavyRun(ctx, c.batch, output, workerMB)
	if err == nil {
		err = check()
	}
	if err == nil {
		c.runs = append(c.runs, run)
	}
	return err
}

// heavyRun runs the job once, and waits until its containers have ended.
func (r *rig) heavyRun(ctx context.Context, b batch, output string, workerMB int) (h heavy, err error) {
	if err := r.client.Files.RemoveAll(ctx, output); err != nil {
		return h, err
	}
	before, err := r.containersCPU()
	if err != nil {
		return h, err
	}
	stop, err := watchContainers(ctx, heavyInterval, heavyEach)
	if err != nil {
		return h, err
	}
	report, out, err := r.heavyCommand(ctx, b, output, workerMB, &h.command)
	if err == nil {
		err = await(ctx, "the containers to end", func() (bool, error) {
			app, err := r.cluster.RM().App(ctx, report.ID.String())
			return app.RunningContainers <= 0, err // -1 for none
		})
	}
	seen, watching := stop()
	if err = errors.Join(err, watching); err != nil {
		return h, err
	}
	after, err := r.containersCPU()
	if err != nil {
		return h, err
	}
	used := seen.used[report.ID]
	// The NodeManagers know nothing of a container whose shell was killed before it, as Flink's workers are. The readings
	// miss the last moments of a process.
	h.cpu, h.peak, h.written = max(after-before, used.CPU), seen.totals[report.ID], used.Written
	h.took, err = b.duration(out)
	return h, err
}

// heavyCommand runs the job's command, and finds its application.
func (r *rig) heavyCommand(ctx context.Context, b batch, output string, workerMB int, took *usage) (report records.ApplicationReport, out []byte, err error) {
	began := time.Now().Truncate(time.Millisecond)
	command := b.launch(output, workerMB)
	if *took, out, err = r.runIn(ctx, b.environment(), command...); err != nil {
		return report, nil, err
	}
	report, err = r.onlyOneSince(ctx, began, command)
	return report, out, err
}

// since returns the user's applications that have started since then.
func (r *rig) since(ctx context.Context, began time.Time) ([]records.ApplicationReport, error) {
	return r.client.YARN.Applications(ctx, yarnclient.Filter{Users: []string{user}, Started: yarnclient.TimeRange{From: began}})
}

// onlyOneSince returns the application that a command has started.
func (r *rig) onlyOneSince(ctx context.Context, began time.Time, command []string) (records.ApplicationReport, error) {
	found, err := r.since(ctx, began)
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%s: started %d applications, want 1", strings.Join(command, " "), len(found))
	}
	if err != nil {
		return records.ApplicationReport{}, err
	}
	return found[0], nil
}
