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

// followInterval is the time between two requests for new content of logs.
const followInterval = time.Second

// following prints logs until their application has ended.
type following struct {
	cluster  *client.Cluster
	follower logs.Follower
	wanted   *logFilter
	stderr   io.Writer

	known   map[records.ContainerID]records.ContainerReport // containers whose logs are read
	silent  map[records.ContainerID]time.Time               // when their nodes stopped answering
	fault   error                                           // of standard output
	awaited bool                                            // the wanted container does not run yet
	current logs.Log                                        // the log printed last
	begun   bool                                            // its last line has no line end yet
}

// followPatience is how long a node may be silent: it may restart.
const followPatience = 30 * time.Second

// errContainerEnded ends the wait for more logs of a container.
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

// causeOr is the cause of the end of ctx; err if ctx has not ended.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// look prints the new content of the logs. It reads the logs of a container once more after its end.
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

// await handles a wanted container that does not run. It looks once among the ended containers, and otherwise
// waits for YARN to start the container. If the log server may not be asked, await cannot tell a container that
// has not started from one that ended on a lost node. It then waits for both, and prints why it does not ask
// the log server.
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

// print prints the new content of a log. If another log was printed last, a line with the name of the log comes
// first.
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

// lines writes head before the first byte, and remembers the last byte.
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
