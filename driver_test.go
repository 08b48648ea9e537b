package bobbin

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// dialogue is a driver's executor, and the client's end of the socket.
func dialogue(t *testing.T) (r *remote, client *control.Conn, tokens *dfs.Tokens, received <-chan error) {
	t.Helper()
	near, far := net.Pipe()
	r, client, tokens = newRemote(control.New(near, msg.StarterToDriver), false), control.New(far, msg.DriverToStarter), new(dfs.Tokens)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { // ends when the client's end is closed
		r.receive(ctx, tokens, cancel)
		ended <- context.Cause(ctx)
	}()
	t.Cleanup(func() { _ = client.Close() })
	return r, client, tokens, ended
}

// TestADriverThatPlansWhileItsClientLeavesIsSilent would catch the error of a broken pipe after Ctrl-C.
func TestADriverThatPlansWhileItsClientLeavesIsSilent(t *testing.T) {
	t.Parallel()
	client, file, err := control.Pair()
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.FileConn(file)
	// A process that another test forks also has the client's end until it runs its own program.
	shut := client.(*net.UnixConn).CloseRead()
	if err := errors.Join(err, file.Close(), shut, client.Close()); err != nil {
		t.Fatal(err)
	}
	r := newRemote(control.New(near, msg.StarterToDriver), false) // the driver does not read yet
	defer r.conn.Close()
	if _, err := r.Execute(t.Context(), dataflow.Execution{}); !errors.Is(err, errClientGone) {
		t.Errorf("the job gives %v, want %v", err, errClientGone)
	}
}

// tell sends the driver messages.
func tell(t *testing.T, client *control.Conn, messages ...msg.Message) {
	t.Helper()
	for _, m := range messages {
		if err := client.Send(m); err != nil {
			t.Error(err)
		}
	}
}

// TestADriverDoesNotTakeOneJobsEndForAnothers would catch a program that gives up a job, runs another, and gets
// the end of the first as the end of the second; and a program that gets no more messages, such as new tokens
// or the end of its client.
func TestADriverDoesNotTakeOneJobsEndForAnothers(t *testing.T) {
	t.Parallel()
	unreadable, bored := errors.New("unreadable"), errors.New("bored")
	for name, test := range map[string]struct {
		collected error // what the program says to what it collects
		why       error // why it gives up
	}{
		"by its context":         {nil, bored},
		"on what it cannot read": {unreadable, unreadable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, client, tokens, received := dialogue(t)
			ctx, giveUp := context.WithCancelCause(t.Context())
			defer giveUp(nil)
			executed := make(chan error, 1)
			execute := func() {
				_, err := r.Execute(ctx, dataflow.Execution{
					Graph:     jobgraph.JobGraph{Name: "one"},
					Collected: func(string, int, []byte) error { return test.collected },
				})
				executed <- err
			}
			go execute()
			if m, err := client.Receive(); err != nil || msg.Kind(m) != "ExecuteJob" {
				t.Fatalf("the client hears %v, %v", m, err)
			}
			if errors.Is(test.why, bored) {
				giveUp(bored)
				if err := <-executed; !errors.Is(err, bored) {
					t.Errorf("the first job gives %v", err)
				}
			}
			tell(t, client, msg.JobAccepted{Job: "1"}, msg.CollectedRecords{Name: "top", Epoch: 1})
			if !errors.Is(test.why, bored) {
				if err := <-executed; !errors.Is(err, test.why) {
					t.Errorf("the first job gives %v", err)
				}
			}
			fresh := creds.New()
			fresh.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte("new")}
			tell(t, client, msg.JobEnded{Job: "1", Status: msg.JobFinished}, msg.UpdateTokens{Tokens: fresh.Marshal()}, msg.JobEnded{Job: "1"})
			if held := tokens.Load(); held == nil || string(held.Tokens["ns"].Password) != "new" {
				t.Errorf("the driver holds %v", held)
			}
			ctx = t.Context()
			if execute(); !errors.Is(<-executed, errJobLeft) {
				t.Error("a job after one that was left is executed")
			}
			if err := client.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-received; !errors.Is(err, errClientGone) {
				t.Errorf("the driver hears %v", err)
			}
		})
	}
}

// TestAJobThatTheClusterDoesNotHaveIsPreparedFirst would catch a driver that takes this answer for a failure of the job, and
// one that cannot execute another job afterwards.
func TestAJobThatTheClusterDoesNotHaveIsPreparedFirst(t *testing.T) {
	t.Parallel()
	r, client, _, _ := dialogue(t)
	executed := make(chan error, 1)
	for _, test := range []struct {
		unprepared bool
		answer     msg.Message
		want       error
	}{
		{true, msg.PrepareJob{}, dataflow.ErrNotPrepared},
		{false, msg.JobEnded{Job: "1", Status: msg.JobFinished}, nil},
	} {
		go func() {
			_, err := r.Execute(t.Context(), dataflow.Execution{Graph: jobgraph.JobGraph{Name: "one"}, Unprepared: test.unprepared})
			executed <- err
		}()
		m, err := client.Receive()
		if x, is := m.(msg.ExecuteJob); err != nil || !is || x.Unprepared != test.unprepared {
			t.Fatalf("the client hears %+v, %v", m, err)
		}
		tell(t, client, test.answer)
		if err := <-executed; !errors.Is(err, test.want) {
			t.Errorf("after %s the job gives %v, want %v", msg.Kind(test.answer), err, test.want)
		}
	}
}
