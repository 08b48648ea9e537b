package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/internal/logs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// followInterval is the time between two looks at logs that grow.
const followInterval = time.Second

// following prints logs until their application has ended.
type following struct {
	cluster  *client.Cluster
	follower logs.Follower
	wanted   *logFilter
	stderr   io.Writer

	known   map[records.ContainerID]records.ContainerReport // whose logs are looked at
	silent  map[records.ContainerID]time.Time               // since when their nodes do not answer
	fault   error                                           // of standard output
	awaited bool                                            // the one container that is wanted does not run yet
	current logs.Log                                        // that was printed last
	begun   bool                                            // its last line has no end yet
}

// followPatience is how long a node may not answer: it may be restarted.
const followPatience = 30 * time.Second

// errContainerEnded ends the wait for more of its logs.
var errContainerEnded = errors.New("container has ended")

func (f *following) follow(ctx context.Context, report records.ApplicationReport) error {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for !report.State.Terminal() {
		var err error
		if report.State == records.ApplicationRunning { // before that YARN may know no containers
			err = f.look(ctx, report)
		}
		if errors.Is(err, errContainerEnded) {
			fmt.Fprintf(f.stderr, "%s has ended\n", f.wanted.container)
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if report, err = f.cluster.YARN.ApplicationReport(ctx, report.ID); err != nil {
			return causeOr(ctx, err)
		}
	}
	return collectedLogs(ctx, f.stderr, f.cluster, report, f.follower.Rest(f.print))
}

// causeOr is why ctx has ended, or else err.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// look prints what has come to the logs. A container is looked at once more after it has
// ended.
func (f *following) look(ctx context.Context, report records.ApplicationReport) error {
	running, err := f.cluster.YARN.Containers(ctx, report.Attempt)
	if err != nil {
		return causeOr(ctx, err)
	}
	lives := make(map[records.ContainerID]bool)
	for _, container := range running {
		lives[container.ID] = true
		if f.wanted.container == "" || f.wanted.container == container.ID.String() {
			f.known[container.ID] = container
		}
	}
	if f.wanted.container != "" && len(f.known) == 0 {
		return f.await(ctx, running)
	}
	ids := slices.SortedFunc(maps.Keys(f.known), func(a, b records.ContainerID) int { return cmp.Compare(a.String(), b.String()) })
	for _, id := range ids {
		err := f.follower.Look(ctx, f.known[id], f.print)
		since, silent := f.silent[id]
		switch {
		case f.fault != nil:
			return f.fault
		case err == nil:
			delete(f.silent, id)
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case lives[id] && !silent:
			f.silent[id] = time.Now()
		case lives[id] && time.Since(since) > followPatience:
			return err
		}
		if !lives[id] {
			delete(f.known, id)
			delete(f.silent, id)
		}
	}
	if f.wanted.container != "" && len(f.known) == 0 {
		return errContainerEnded
	}
	return nil
}

// await looks once among those that have ended for a container that does not run. It waits for
// one that YARN has not begun. Where the log server may not be asked, nothing tells such a one
// from one that has ended on a node that has left: await waits for both then, and says why the
// log server is not asked.
func (f *following) await(ctx context.Context, running []records.ContainerReport) error {
	if f.awaited {
		return nil
	}
	found, err := endedContainer(ctx, f.cluster, f.follower.Web, running, f.wanted)
	switch {
	case found && err == nil:
		return errContainerEnded
	case !found && errors.Is(err, logs.ErrPlain):
		fmt.Fprintln(f.stderr, err)
	case err != nil:
		return err
	}
	f.awaited = true
	_, err = fmt.Fprintf(f.stderr, "waiting for %s\n", f.wanted.container)
	return err
}

// print prints what is new of a log, behind a line that tells which it is where that is
// another than the last.
func (f *following) print(l logs.Log, content io.Reader) error {
	out := &lines{out: f.wanted.out}
	if l.Container != f.current.Container || l.Name != f.current.Name {
		out.head = fmt.Sprintf("==== %s of %s on %s\n", l.Name, l.Container, l.Node)
		if f.begun {
			out.head = "\n" + out.head
		}
	}
	n, err := io.Copy(out, content)
	if n > 0 {
		f.current, f.begun, f.wanted.printed = l, out.last != '\n', true
	}
	f.fault = cmp.Or(f.fault, out.fault)
	return err
}

// lines writes a head before the first byte, and knows the last.
type lines struct {
	out   io.Writer
	head  string
	last  byte
	fault error // of out
}

func (w *lines) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if w.head != "" {
		if _, w.fault = io.WriteString(w.out, w.head); w.fault != nil {
			return 0, w.fault
		}
		w.head = ""
	}
	w.last = p[len(p)-1]
	n, err := w.out.Write(p)
	w.fault = err
	return n, err
}
