package yarn

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// application is an application of a conversation. The test itself is the ApplicationMaster of each attempt, also if
// YARN starts the master's container: the container only copies its token for the test.
type application struct {
	*conversation
	id     records.ApplicationID
	dir    string // of the tokens; "": the master is unmanaged
	sleep  string // command of its containers
	client *yarnclient.Client
	names  map[records.ContainerID]string // of containers, in the lines
	epoch  int64                          // of the ResourceManager when the first container was granted
}

// apply submits an application.
func (c *conversation) apply(change func(*records.SubmissionContext)) *application {
	c.t.Helper()
	a := &application{conversation: c, client: c.typed(), dir: c.t.TempDir(), sleep: rpctest.Sleep(), names: make(map[records.ContainerID]string)}
	c.t.Cleanup(func() {
		if err := a.client.Close(); err != nil {
			c.t.Error(err)
		}
	})
	s := rpctest.Shell(`cp $HADOOP_TOKEN_FILE_LOCATION ` + a.dir + `/$CONTAINER_ID.part; mv ` + a.dir + `/$CONTAINER_ID.part ` + a.dir + `/$CONTAINER_ID; ` +
		`while [ ! -e ` + a.dir + `/$CONTAINER_ID.exit ]; do sleep 0.1; done; . ` + a.dir + `/$CONTAINER_ID.exit`)
	s.MaxAttempts = 2
	change(&s)
	if s.Unmanaged {
		a.dir = ""
	}
	created, err := a.client.NewApplication(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	s.ID = created.ID
	c.kills(a.client, s.ID)
	report, err := a.client.Submit(c.ctx, s)
	if err != nil {
		c.t.Fatal(err)
	}
	a.id = report.ID
	return a
}

// kills kills an application at the end of the test, if YARN knows it.
func (c *conversation) kills(client *yarnclient.Client, id records.ApplicationID) {
	c.t.Cleanup(func() {
		err := client.Kill(wait.Context(c.t), id, "the test has ended")
		if err != nil && !errors.Is(err, yarnrpc.ErrApplicationNotFound) { // the ResourceManager may have lost its state
			c.t.Error(err)
		}
	})
}

// exit makes the container of a master exit.
func (a *application) exit(master string, status int) {
	a.t.Helper()
	command := filepath.Join(a.dir, a.containerID(master).String()+".exit")
	part := command + ".part" // the process must not read half of the command
	if err := errors.Join(os.WriteFile(part, fmt.Append(nil, "exit ", status), 0o600), os.Rename(part, command)); err != nil {
		a.t.Fatal(err)
	}
}

// fail gives up the attempt.
func (a *application) fail(attempt int32) {
	a.t.Helper()
	a.ask(a.conversation.client, fmt.Sprint("client fails attempt ", attempt), "failApplicationAttempt", &yarnpb.FailApplicationAttemptRequestProto{
		ApplicationAttemptId: a.attemptProto(attempt),
	}, new(yarnpb.FailApplicationAttemptResponseProto), nothing)
}

func (a *application) attemptProto(attempt int32) *yarnpb.ApplicationAttemptIdProto {
	return &yarnpb.ApplicationAttemptIdProto{
		ApplicationId: &yarnpb.ApplicationIdProto{ClusterTimestamp: proto.Int64(a.id.ClusterTimestamp), Id: proto.Int32(a.id.ID)},
		AttemptId:     proto.Int32(attempt),
	}
}

// containerID returns the id of a container by its name.
func (a *application) containerID(name string) records.ContainerID {
	a.t.Helper()
	for id, called := range a.names {
		if called == name {
			return id
		}
	}
	a.t.Fatalf("there is no container %s", name)
	return records.ContainerID{}
}

func (a *application) containerProto(name string) *yarnpb.ContainerIdProto {
	a.t.Helper()
	id := a.containerID(name)
	return &yarnpb.ContainerIdProto{AppAttemptId: a.attemptProto(id.Attempt.Attempt), Id: proto.Int64(id.ID)}
}

// await waits until an attempt is in this state.
func (a *application) await(attempt int32, state records.AttemptState) records.AttemptReport {
	a.t.Helper()
	var now records.AttemptReport
	wait.For(a.t, fmt.Sprintf("attempt %d is %s", attempt, state), func() (bool, error) {
		attempts, err := a.client.Attempts(a.ctx, a.id)
		for _, one := range attempts {
			if one.ID.Attempt == attempt {
				now = one
			}
		}
		return now.State == state, err
	})
	return now
}

// lead waits for an attempt, and becomes its master.
func (a *application) lead(attempt int32) *leader {
	a.t.Helper()
	report := a.await(attempt, records.AttemptLaunched)
	l := &leader{application: a, attempt: report.ID, nodes: make(map[records.NodeID]*creds.Token)}
	if a.dir == "" {
		l.token = rpctest.Await(a.t, a.client, a.id, "launched", func(r records.ApplicationReport) bool { return r.AMRMToken != nil }).AMRMToken
	} else {
		a.call(report.MasterContainer, fmt.Sprintf("master%d", attempt))
		rpctest.Told(a.t, a.dir, report.MasterContainer.String())
		credentials, err := creds.ReadFile(filepath.Join(a.dir, report.MasterContainer.String()))
		if err != nil {
			a.t.Fatal(err)
		}
		l.token = credentials.ByKind(creds.KindAMRM)
	}
	l.connect()
	return l
}

// listed waits until the ResourceManager says that these containers of an attempt, and no others, have not ended.
func (a *application) listed(attempt int32, want ...string) {
	a.t.Helper()
	slices.Sort(want)
	wait.Satisfied(a.t, fmt.Sprint("the ResourceManager lists ", want), func() error {
		list, err := a.client.Containers(a.ctx, records.ApplicationAttemptID{Application: a.id, Attempt: attempt})
		if err != nil {
			return err
		}
		var got []string
		for _, one := range list {
			got = append(got, a.name(one.ID))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("it lists %v", got)
		}
		return nil
	})
}

// runs waits until the ResourceManager knows that containers run. A real one says this only in its log.
func (a *application) runs(names ...string) {
	a.t.Helper()
	for _, name := range names {
		heard := []byte(a.containerID(name).String() + " Container Transitioned from ACQUIRED to RUNNING")
		wait.For(a.t, "the ResourceManager has heard that "+name+" runs", func() (bool, error) {
			if a.log == "" {
				return true, nil // a start at the fake is reported before its answer
			}
			log, err := os.ReadFile(a.log)
			return bytes.Contains(log, heard), err
		})
	}
}

// reports records what the client is told of a container.
func (a *application) reports(name string) {
	a.t.Helper()
	report, err := a.client.Container(a.ctx, a.containerID(name))
	if err != nil {
		a.t.Fatal(err)
	}
	a.note("report of %s: %s as %s, priority %d, %s", name, report.State, report.ExitStatus, report.Priority, report.Resource)
}

// call gives a container a name.
func (a *application) call(id records.ContainerID, name string) {
	if len(a.names) == 0 {
		a.epoch = id.Epoch()
	}
	a.names[id] = name
}

func (a *application) name(id records.ContainerID) string {
	if name := a.names[id]; name != "" {
		return name
	}
	return id.String()
}

// states records the client's view.
func (a *application) states(when string) {
	a.t.Helper()
	report, err := a.client.ApplicationReport(a.ctx, a.id)
	if err != nil {
		a.t.Fatal(err)
	}
	attempts, err := a.client.Attempts(a.ctx, a.id)
	if err != nil {
		a.t.Fatal(err)
	}
	line := fmt.Sprintf("%s: %s %s at %s", when, report.State, report.FinalStatus, report.Host)
	for _, one := range attempts {
		line += fmt.Sprintf(", attempt %d %s", one.ID.Attempt, one.State)
	}
	a.note("%s", line)
}

// nodes returns the nodes that run.
func (a *application) nodes() (ids []records.NodeID) {
	a.t.Helper()
	reports, err := a.client.ClusterNodes(a.ctx, records.NodeRunning)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, n := range reports {
		ids = append(ids, n.ID)
	}
	return ids
}

// place returns the node of a container.
func (a *application) place(name string) records.NodeID {
	a.t.Helper()
	report, err := a.client.Container(a.ctx, a.containerID(name))
	if err != nil {
		a.t.Fatal(err)
	}
	return report.Node
}

// sleeping waits until a number of the application's containers have a process.
func (a *application) sleeping(n int) {
	a.t.Helper()
	wait.Satisfied(a.t, fmt.Sprintf("%d containers have a process", n), func() error {
		if now := len(rpctest.Processes(a.t, a.sleep)); now != n {
			return fmt.Errorf("%d have one", now)
		}
		return nil
	})
}
