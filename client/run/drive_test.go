package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// What the program of the tests does as a driver.
const (
	attentive = "attentive" // executes no job, and reads what it is told
	deaf      = "deaf"      // executes a job, and reads none of its results
	repeating = "repeating" // executes no job, and prints the epochs and records that it is told
)

// plays is a driver without the SDK. It ends with 9 when a message is not what it expects.
func plays(value, part string) int {
	_, fd, err := control.Parse(value)
	if err != nil {
		return 9
	}
	socket, err := control.FromFD(fd)
	if err != nil {
		return 9
	}
	conn := control.New(socket, msg.StarterToDriver)
	if conn.Send(msg.DriverHello{ProtocolVersion: jobgraph.ProtocolVersion}) != nil {
		return 9
	}
	if part == deaf && conn.Send(msg.ExecuteJob{Graph: *collecting()}) != nil {
		return 9
	}
	for {
		m, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return 0
		}
		if _, accepted := m.(msg.JobAccepted); accepted {
			break
		}
		if _, ended := m.(msg.JobEnded); ended {
			return 0
		}
		if got, collected := m.(msg.CollectedRecords); collected && part == repeating {
			fmt.Fprintf(os.Stdout, "%d %s\n", got.Epoch, got.Records)
		}
	}
	poll(socket, unix.POLLIN) // a result has come
	fmt.Fprintln(os.Stdout, deaf)
	poll(socket, 0)
	return 0
}

// poll waits for events of a socket, or until its other end is closed.
func poll(socket any, events int16) {
	raw, err := socket.(syscall.Conn).SyscallConn()
	if err != nil {
		panic(err)
	}
	err = raw.Control(func(fd uintptr) {
		for {
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, -1); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	if err != nil {
		panic(err)
	}
}

// collecting is a job that collects a result.
func collecting() *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "words", Name: "words", Args: []byte("{}"),
		Vertices: []jobgraph.Vertex{{Name: "words", Operators: []string{"source"}, Parallelism: 1, Source: true, Collect: "counts"}},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// plentiful is a master whose job collects without end.
type plentiful struct{ rest.Gateway }

func (plentiful) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	return msg.JobDetails{ID: job, Name: "words", Status: msg.JobRunning}, nil
}

func (plentiful) CollectPage(_ context.Context, _ ids.JobID, _ string, cursor int64, _ time.Duration) (msg.CollectPage, error) {
	return msg.CollectPage{Records: make([]byte, 1<<20), Next: cursor + 1}, nil // more than a socket holds
}

// place is the cluster of a job whose master is known.
type place struct {
	cluster
	master func() (*client.ClusterClient, error)
}

func (p place) submit(context.Context, *jobgraph.JobGraph) (*running, error) {
	return &running{id: ids.JobID(ids.Random()), name: "job words"}, nil
}

func (p place) reach(context.Context) (*client.ClusterClient, error) { return p.master() }

func (p place) report(context.Context) (records.ApplicationReport, error) {
	return records.ApplicationReport{State: records.ApplicationRunning}, nil
}

// hears calls a function when something is written.
type hears func([]byte)

func (h hears) Write(text []byte) (int, error) {
	h(text)
	return len(text), nil
}

// TestADriverThatReadsNothingIsInterrupted would catch a client that must be killed, as it tells its driver of a result, and
// neither Ctrl-C nor SIGTERM ends that.
func TestADriverThatReadsNothingIsInterrupted(t *testing.T) {
	access := resttest.Serve(t, plentiful{}, rest.Config{})
	ctx, interrupt := context.WithCancelCause(t.Context())
	d, err := driver.Start(t.Context(), os.Args[0], []string{deaf}, driver.Options{
		Stdout: hears(func([]byte) { interrupt(ErrInterrupted) }), Stderr: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := runner{
		Journal: NewJournal(&out, time.Now(), false), limits: limitsOf(config.Config{}),
		cluster: place{master: func() (*client.ClusterClient, error) { return client.NewClusterClient(access) }},
	}
	if err := r.drive(ctx, d); !errors.Is(err, ErrInterrupted) { // does not return where nothing ends Tell
		t.Errorf("%v, want the interruption", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if got, want := out.String(), "\ndetached: job words goes on. \n"; !strings.HasSuffix(got, want) {
		t.Errorf("printed %q, want %q at its end", got, want)
	}
}
