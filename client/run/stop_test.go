package run

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// stoppable is an ApplicationMaster that can be asked to end its session.
type stoppable struct {
	rest.Gateway
	once  sync.Once
	asked chan struct{}
}

func (s *stoppable) ShutDown(context.Context) error {
	s.once.Do(func() { close(s.asked) })
	return nil
}

// looks returns a function that waits until clients have looked n times who leads, since the call of looks.
func looks(t *testing.T, hdfs *hdfsfake.Fake) func(n int) {
	t.Helper()
	before := len(hdfs.Calls("getListing"))
	return func(n int) {
		again := time.NewTicker(time.Millisecond)
		defer again.Stop()
		for len(hdfs.Calls("getListing")) < before+n {
			<-again.C
		}
	}
}

// attending is a command that attends the application of a cluster.
func attending(t *testing.T, cluster *client.Cluster, out *bytes.Buffer) *attendance {
	t.Helper()
	job := targetOn(t, cluster, out)
	if _, err := job.submit(t.Context(), collecting()); err != nil {
		t.Fatal(err)
	}
	return (&onYARN{cluster: cluster, id: job.app.ID}).attendance(filepath.Join(t.TempDir(), "session"), nil, job.Journal)
}

// TestAStopThatIsStoredSucceeds would catch a stop that is reported as failed, because its ApplicationMaster died when it had
// stored the end, and a second stop that fails while the session ends.
func TestAStopThatIsStoredSucceeds(t *testing.T) {
	for name, stop := range map[string]func(context.Context, *attendance) error{
		"the stop goes on": func(ctx context.Context, a *attendance) error { return a.stop(ctx) },
		"another stop":     stopCommand,
		"the user is leaving": func(ctx context.Context, a *attendance) error {
			a.owner = true
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(ErrInterrupted)
			if err := a.interrupted(ctx); !errors.Is(err, ErrInterrupted) || errors.Is(err, client.ErrLeftBehind) {
				return err
			}
			return nil
		},
	} {
		for _, late := range []bool{false, true} { // YARN learns of the end only when the client waits for it
			hdfs := hdfsfake.Start(hdfsfake.Config{})
			t.Cleanup(hdfs.Stop)
			die, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
			cluster := clusterOn(t, hdfs, func(ctx context.Context, rm *amrm.Client, c yarnfake.Container) records.ExitStatus {
				if c.ID.Attempt.Attempt == 1 {
					<-die
					err := leads(ctx, hdfs, c, func(ctx context.Context, store ha.Store) error {
						return store.End(ctx, ha.Outcome{Status: msg.ApplicationSucceeded})
					})
					if err != nil {
						t.Error(err)
					}
					return 1
				}
				defer close(left)
				<-leave
				if err := rm.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
					t.Error(err)
				}
				return 0
			})
			var out bytes.Buffer
			a := attending(t, cluster, &out)
			close(die)
			if report, err := cluster.AwaitEndOf(t.Context(), a.id, 1); err != nil || report.State.Terminal() {
				t.Fatal(report.State, err)
			}
			if looked := looks(t, hdfs); late {
				go func() { // ends with the stop
					looked(1)
					close(leave)
				}()
			} else {
				close(leave)
				if _, err := cluster.AwaitEnd(t.Context(), a.id); err != nil {
					t.Fatal(err)
				}
			}
			err := stop(t.Context(), a)
			if err != nil || !strings.Contains(out.String(), "FINISHED (SUCCEEDED)") {
				t.Errorf("%s, YARN is late %t: %v, printed %q", name, late, err, out.String())
			}
			<-left
		}
	}
}

// TestAStopOfASessionThatEndsMeanwhileSucceeds would catch a stop that is reported as failed, because the session ended while
// it was asked: its ApplicationMaster answers no more, its address is still there, and YARN may not know of the end for longer
// than a command waits for YARN's word.
func TestAStopOfASessionThatEndsMeanwhileSucceeds(t *testing.T) {
	for name, c := range map[string]struct {
		stop func(context.Context, *attendance) error
		asks int // before the session stores its end
	}{
		"attended":                     {func(ctx context.Context, a *attendance) error { return a.stop(ctx) }, 1},
		"by a command":                 {stopCommand, 1},
		"by a command that asks again": {stopCommand, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hdfs := hdfsfake.Start(hdfsfake.Config{})
			t.Cleanup(hdfs.Stop)
			front, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			access := resttest.Serve(t, &stoppable{}, rest.Config{}) // for its certificate
			access.Address = front.Addr().String()
			published, left := make(chan struct{}), make(chan struct{})
			cluster := clusterOn(t, hdfs, func(ctx context.Context, rm *amrm.Client, at yarnfake.Container) records.ExitStatus {
				defer close(left)
				err := leads(ctx, hdfs, at, func(ctx context.Context, store ha.Store) error {
					if err := publish(at, access)(ctx, store); err != nil {
						return err
					}
					close(published)
					for range c.asks {
						asked, err := front.Accept()
						if err != nil {
							return err
						}
						if err := asked.Close(); err != nil {
							return err
						}
					}
					if err := front.Close(); err != nil {
						return err
					}
					return store.End(ctx, ha.Outcome{Status: msg.ApplicationSucceeded})
				})
				if err := errors.Join(err, rm.Finish(t.Context(), records.FinalSucceeded, "", "")); err != nil {
					t.Error(err)
				}
				return 0
			})
			var out bytes.Buffer
			a := attending(t, cluster, &out)
			<-published
			if err := c.stop(t.Context(), a); err != nil || !strings.Contains(out.String(), "FINISHED (SUCCEEDED)") {
				front.Close() // so that the session ends
				t.Errorf("%v, printed %q", err, out.String())
			}
			<-left
		})
	}
}

// stopCommand is bobbin session stop.
func stopCommand(ctx context.Context, a *attendance) error {
	return Stop(ctx, &onYARN{cluster: a.cluster, id: a.id}, a.file, a.Journal)
}

// TestCtrlCStopsASessionThatIsBeingReplaced would catch a session that goes on, and keeps its memory, because its
// ApplicationMaster died shortly before the user left.
func TestCtrlCStopsASessionThatIsBeingReplaced(t *testing.T) {
	hdfs := hdfsfake.Start(hdfsfake.Config{})
	t.Cleanup(hdfs.Stop)
	next := &stoppable{asked: make(chan struct{})}
	alive := resttest.Serve(t, next, rest.Config{})
	dead := alive
	dead.Address = "127.0.0.1:1"
	published, die, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	cluster := clusterOn(t, hdfs, func(ctx context.Context, rm *amrm.Client, c yarnfake.Container) records.ExitStatus {
		if c.ID.Attempt.Attempt == 1 {
			if err := leads(ctx, hdfs, c, publish(c, dead)); err != nil {
				t.Error(err)
			}
			close(published)
			<-die
			return 1
		}
		defer close(left)
		looks(t, hdfs)(1)
		err := leads(ctx, hdfs, c, func(ctx context.Context, store ha.Store) error {
			if err := publish(c, alive)(ctx, store); err != nil {
				return err
			}
			<-next.asked
			return store.End(ctx, ha.Outcome{Status: msg.ApplicationSucceeded})
		})
		if err = errors.Join(err, rm.Finish(t.Context(), records.FinalSucceeded, "", "")); err != nil {
			t.Error(err)
		}
		return 0
	})
	var out bytes.Buffer
	a := attending(t, cluster, &out)
	a.owner = true
	<-published
	looked := looks(t, hdfs)
	go func() { // ends with the stop
		looked(2) // YARN does not know yet
		close(die)
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	if err := a.interrupted(ctx); !errors.Is(err, ErrInterrupted) || errors.Is(err, client.ErrLeftBehind) {
		t.Errorf("got %v", err)
	}
	<-left
	if !strings.HasSuffix(out.String(), " is FINISHED (SUCCEEDED). Its logs: bobbin logs "+a.id.String()+"\n") || strings.Count(out.String(), "stopping session") != 1 {
		t.Errorf("printed %q", out.String())
	}
}

// TestAStopThatTakesTooLongSaysWhere would catch a user who learns only that 30 s were not enough for the stop, and not that
// the session has got it and may end later.
func TestAStopThatTakesTooLongSaysWhere(t *testing.T) {
	master, err := client.NewClusterClient(resttest.Serve(t, &stoppable{}, rest.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	a := &attendance{Journal: NewJournal(&bytes.Buffer{}, time.Now(), false), cluster: &client.Cluster{}}
	if err := a.end(ctx, master); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ask ApplicationMaster at 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}
