package cli

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

const (
	waitingJob  = ids.JobID("00000000000000000000000000000001")
	runningJob  = ids.JobID("00000000000000000000000000000002")
	finishedJob = ids.JobID("00000000000000000000000000000003")

	driverID   = "0000000000000000000000000000000d"
	unknownJob = "0000000000000000000000000000000f"

	waves = "it runs in waves, with blocking exchanges: a part of it needs 4 slots at a time, and the cluster has 2"
)

// fakeSession is a session on a fake YARN; its REST endpoint is real.
type fakeSession struct {
	rest.Gateway
	rest.Session
	id     records.ApplicationID
	env    map[string]string     // environment of alice, the owner of the session
	access launch.Access         // hers
	path   string                // of the session file, which does not exist
	site   *sitecert.Certificate // for browsers; nil: none
	alone  bool                  // YARN is gone by the time the session is told to end

	yarn  *yarnfake.Fake
	rm    *amrm.Client
	alice *yarnclient.Client

	mu  sync.Mutex // guards did
	did []string
}

func (s *fakeSession) note(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, what)
	return nil
}

func (s *fakeSession) Jobs(context.Context) ([]msg.JobOverview, error) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	return []msg.JobOverview{
		{ID: finishedJob, Name: "old", Status: msg.JobFinished, Start: start.Add(-time.Hour), End: start, Note: waves},
		{ID: runningJob, Name: "words", Status: msg.JobRunning, Start: start.Add(time.Minute), TotalTasks: 4, Tasks: map[msg.ExecutionState]int{msg.ExecutionRunning: 3, msg.ExecutionCreated: 1}, Note: waves},
		{ID: waitingJob, Name: "late", Status: msg.JobCreated, Start: start},
	}, nil
}

func (s *fakeSession) CancelJob(_ context.Context, job ids.JobID) error {
	if job == driverID || job == unknownJob {
		return msg.ErrJobNotFound
	}
	return s.note("cancel " + string(job))
}

func (s *fakeSession) Drivers(context.Context) ([]msg.DriverDetails, error) {
	return []msg.DriverDetails{{
		ID: driverID, Program: msg.Program{Name: "sieve"}, Started: time.Date(2026, 1, 2, 4, 4, 5, 0, time.Local), MemoryMB: 12, Jobs: 3,
	}}, nil
}

func (s *fakeSession) Blocklist(context.Context) ([]msg.BlockedNode, error) {
	return []msg.BlockedNode{{Node: "n2", Cause: "program cannot be fetched:\nno space left on device", Until: time.Date(2026, 1, 2, 5, 4, 5, 0, time.Local)}}, nil
}

func (s *fakeSession) EndDriver(_ context.Context, id string) error {
	if id != driverID {
		return msg.ErrDriverNotFound
	}
	return s.note("end " + id)
}

func (s *fakeSession) TaskExecutors(context.Context) ([]msg.TaskExecutorDetails, error) {
	return []msg.TaskExecutorDetails{{Resource: "container_1_0001_01_000002", SlotsTotal: 2, SlotsFree: 1}}, nil
}

func (s *fakeSession) SlotSupply(context.Context) (msg.SlotSupply, error) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	return msg.SlotSupply{
		Total: 2, Free: 0, PerWorker: 2, WorkerMemoryMB: 1024, Requested: 2, RequestedSince: at.Add(time.Second),
		Spares: 1, Floor: 2, FloorBy: "slotmanager.number-of-slots.min: 4",
		Jobs: []msg.SlotDemand{{Job: runningJob, Needed: 2, Held: 2}, {Job: waitingJob, Needed: 4, Since: at}},
	}, nil
}

// ShutDown ends the application as an ApplicationMaster does.
func (s *fakeSession) ShutDown(ctx context.Context) error {
	if s.alone {
		return errors.Join(s.yarn.Stop(), s.note("shut down"))
	}
	return errors.Join(s.rm.Finish(ctx, records.FinalSucceeded, "", ""), s.note("shut down"))
}

// startYARN starts a fake YARN.
func startYARN(t *testing.T, c yarnfake.Config) *yarnfake.Fake {
	t.Helper()
	fake, err := yarnfake.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fake
}

// forever is an ApplicationMaster that waits until it is killed.
func forever(ctx context.Context, _ yarnfake.Container) records.ExitStatus {
	<-ctx.Done()
	return records.ExitTerminated
}

// yarnAs is a user's client of YARN.
func yarnAs(t *testing.T, fake *yarnfake.Fake, user string) *yarnclient.Client {
	t.Helper()
	o, err := yarnclient.FromConf(fake.Conf(), user)
	if err != nil {
		t.Fatal(err)
	}
	yarn := yarnclient.New(o)
	t.Cleanup(func() { yarn.Close() })
	return yarn
}

// submitUnmanaged submits an application whose ApplicationMaster is this test, and returns the connection of
// the ApplicationMaster to YARN.
func submitUnmanaged(t *testing.T, fake *yarnfake.Fake, yarn *yarnclient.Client) (records.ApplicationReport, *amrm.Client) {
	t.Helper()
	created, err := yarn.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report, err := yarn.Submit(t.Context(), records.SubmissionContext{
		ID: created.ID, Name: "nightly", Type: "Bobbin", Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	masters, err := amrm.FromConf(fake.Conf())
	if err != nil {
		t.Fatal(err)
	}
	masters.Attempt, masters.Token = report.Attempt, report.AMRMToken
	rm := amrm.New(masters)
	t.Cleanup(func() { rm.Close() })
	return report, rm
}

// environment is alice's environment on a cluster with this configuration.
func environment(t *testing.T, conf *hadoopconf.Conf) map[string]string {
	t.Helper()
	dir := t.TempDir()
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var site struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}
	for _, name := range conf.Names() {
		site.Properties = append(site.Properties, property{name, conf.Get(name)})
	}
	text, err := xml.Marshal(site)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"HADOOP_CONF_DIR": dir, "HADOOP_USER_NAME": "alice", "TMPDIR": dir}
}

// startFakeSession starts a fakeSession.
func startFakeSession(t *testing.T) *fakeSession {
	t.Helper()
	return startFakeSessionWith(t, nil)
}

// startFakeSessionWith is startFakeSession with a certificate of the site.
func startFakeSessionWith(t *testing.T, site *sitecert.Certificate) *fakeSession {
	t.Helper()
	fake := startYARN(t, yarnfake.Config{ClientTokens: true})
	s := &fakeSession{yarn: fake, site: site, env: environment(t, fake.Conf())}
	c := call{getenv: func(name string) string { return s.env[name] }}
	s.path = c.sessionFile(config.Config{})
	s.register(t, fake)
	return s
}

// register submits the application in alice's name, and starts its REST endpoint.
func (s *fakeSession) register(t *testing.T, fake *yarnfake.Fake) {
	t.Helper()
	s.alice = yarnAs(t, fake, "alice")
	var report records.ApplicationReport
	report, s.rm = submitUnmanaged(t, fake, s.alice)
	s.id = report.ID
	verifier, err := clienttoam.NewVerifier(report.Attempt, "")
	if err != nil {
		t.Fatal(err)
	}
	s.access = resttest.Serve(t, s, rest.Config{ClientToAM: verifier, Rights: rest.Rights{Owner: "alice"}, Session: s, Site: s.site})
	s.access.Attempt, s.access.Application = 1, s.id.String()
	host, port, err := net.SplitHostPort(s.access.Address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	registration, err := s.rm.Register(t.Context(), amrm.RegisterRequest{Host: host, RPCPort: number})
	if err != nil {
		t.Fatal(err)
	}
	verifier.SetKey(registration.ClientToAMKey)
}

// write writes the session file, as `session start` does.
func (s *fakeSession) write(t *testing.T, options map[string]string) {
	t.Helper()
	if err := sessionfile.Write(s.path, sessionfile.Session{Application: s.id, Options: options}); err != nil {
		t.Fatal(err)
	}
}

// TestAnAddressIsNoReasonToTrustSomebody is the attack of a user who registers an application under the address
// that bob means. It would catch a command of bob that sends his program and data there.
func TestAnAddressIsNoReasonToTrustSomebody(t *testing.T) {
	s := startFakeSession(t)
	bob := maps.Clone(s.env)
	bob["HADOOP_USER_NAME"] = "bob"
	for _, line := range []string{"status -m " + s.access.Address, "cancel -m " + s.access.Address + " " + string(runningJob)} {
		code, stdout, stderr := command(t, bob, strings.Fields(line)...)
		want := fmt.Sprintf("no running application of user bob has its REST endpoint at %s: %s of user alice claims to have it; to use that application, name it with -id", s.access.Address, s.id)
		if code != ExitFailed || stdout != "" || !strings.Contains(stderr, want) || len(s.did) > 0 {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; the session did %v", line, code, stdout, stderr, s.did)
		}
	}
}

// TestTheApplicationThatIsMeantIsFound would catch a command that uses another application than the one that
// the user names, in each possible way.
func TestTheApplicationThatIsMeantIsFound(t *testing.T) {
	s := startFakeSession(t)
	none := "usage: bobbin status needs a running application: name it with -id (" + s.id.String() + " is nightly), or start a session with bobbin session start"
	for _, c := range []struct{ name, line, fails string }{
		{"by nothing", "status", none},
		{"by its id", "status -id " + s.id.String(), ""},
		{"by Flink's flag", "status -yid " + s.id.String(), ""},
		{"by an option", "status -D yarn.application.id=" + s.id.String(), ""},
		{"by an option, with Flink's target", "status -t yarn-application -Dyarn.application.id=" + s.id.String(), ""},
		{"by a target that is none", "status -t yarn-moon", `--target: option execution.target: "yarn-moon" is none of local, remote, yarn-per-job, yarn-session, yarn-application: invalid configuration`},
		{"by the address of its REST endpoint", "status -m " + s.access.Address, ""},
		{"by the address, with Flink's target", "status -t remote -m " + s.access.Address, ""},
		{"by its id, with what old scripts have for an address", "status -m yarn-cluster -yid " + s.id.String(), ""},
		{"by what old scripts have for an address", "status -m yarn-cluster", none},
		{"by an id that is none", "status -id 17", `usage: "17" is no application id (--applicationId), such as application_1700000000000_0001; bobbin applications lists them`},
		{"by an address that is nobody's", "status -m 127.0.0.1:1", "no running application has its REST endpoint at 127.0.0.1:1: bobbin applications lists the ids; name one with -id"},
		{"by an address that is none", "status -m here", "usage: -m here: want host:port"},
	} {
		_, stdout, stderr := command(t, s.env, strings.Fields(c.line)...)
		switch {
		case c.fails != "" && stderr != "bobbin: "+c.fails+"\n":
			t.Errorf("%s: stderr %q", c.name, stderr)
		case c.fails == "" && !strings.Contains(stdout, s.id.String()+" (nightly)"):
			t.Errorf("%s: stdout %q, stderr %q", c.name, stdout, stderr)
		}
	}
	s.write(t, nil)
	if _, stdout, stderr := command(t, s.env, "status"); !strings.Contains(stdout, s.id.String()) {
		t.Errorf("by the file: stdout %q, stderr %q", stdout, stderr)
	}
	if _, _, stderr := command(t, s.env, "status", "-t", "yarn-application"); stderr != "bobbin: "+none+"\n" {
		t.Errorf("the session of the file is no application: stderr %q", stderr)
	}
	// A flag takes precedence over the file, and -id over the option.
	for _, line := range []string{"status -id application_1_0001", "status -D yarn.application.id=application_1_0001", "status -D yarn.application.id=" + s.id.String() + " -id application_1_0001"} {
		if _, _, stderr := command(t, s.env, strings.Fields(line)...); !strings.Contains(stderr, "application_1_0001") {
			t.Errorf("%s: stderr %q", line, stderr)
		}
	}
	gone := s.id
	gone.ID++
	if err := sessionfile.Write(s.path, sessionfile.Session{Application: gone}); err != nil {
		t.Fatal(err)
	}
	if _, _, stderr := command(t, s.env, "status"); !strings.HasSuffix(stderr, " is not known to YARN: bobbin applications --all lists the known applications; "+s.path+" still names it: bobbin session stop removes that file\n") {
		t.Errorf("by the file of a session that is gone: stderr %q", stderr)
	}
	if _, _, stderr := command(t, s.env, "status", "-id", gone.String()); strings.Contains(stderr, s.path) {
		t.Errorf("the file is blamed for a flag: stderr %q", stderr)
	}
	if err := os.WriteFile(s.path, []byte("applicationID=none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t, s.env, "status"); code != ExitFailed || !strings.Contains(stderr, s.path) || !strings.Contains(stderr, "delete it") {
		t.Errorf("by a file that is damaged: %q", stderr)
	}
}

// TestJobsAreListedAsFlinkDoes would catch a list that a script written for Flink cannot read.
func TestJobsAreListedAsFlinkDoes(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	const (
		late  = "2026-01-02 03:04:05 : 00000000000000000000000000000001 : late (CREATED)\n"
		words = "2026-01-02 03:05:05 : 00000000000000000000000000000002 : words (RUNNING)\n"
		old   = "2026-01-02 02:04:05 : 00000000000000000000000000000003 : old (FINISHED)\n"
	)
	const waits = " since 03:04:05: it needs 4 slots and has 0; other jobs hold 2; containers requested from YARN: 2, since 03:04:06"
	const (
		end       = "--------------------------------------------------------------\n"
		running   = "------------------ Running/Restarting Jobs -------------------\n" + words + end
		scheduled = "---------------- Scheduled/Initializing Jobs -----------------\n" + late + end
		ended     = "---------------------- Terminated Jobs -----------------------\n" + old + end
	)
	for line, want := range map[string]string{
		"list": running + scheduled, "list -r": running, "list -s": scheduled, "list -r -s": running + scheduled, "list -a": running + scheduled + ended,
	} {
		code, stdout, stderr := command(t, s.env, strings.Fields(line)...)
		if diff := cmp.Diff(want, stdout); code != ExitOK || diff != "" {
			t.Errorf("%s: exit code %d, stderr %q (-want +got):\n%s", line, code, stderr, diff)
		}
		notes := ""
		for _, noted := range [][2]string{{running, string(runningJob)}, {ended, string(finishedJob)}} {
			if strings.Contains(want, noted[0]) {
				notes += "job " + noted[1] + ": " + waves + "\n"
			}
		}
		if stderr != notes+"job "+string(waitingJob)+waits+"\n" {
			t.Errorf("%s: how jobs run, and what one waits for, is told as %q", line, stderr)
		}
	}
	var none strings.Builder
	for _, empty := range []section{sectionRunning, sectionScheduled, sectionEnded} {
		if err := empty.write(&none, nil); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("No running jobs.\nNo scheduled jobs.\nNo terminated jobs.\n", none.String()); diff != "" {
		t.Errorf("without jobs (-want +got):\n%s", diff)
	}
	_, stdout, _ := command(t, s.env, "list", "-o", "json")
	var told struct {
		Jobs []struct {
			Job       string
			JobStatus string
			Ended     int64
			Running   int `json:"tasksRunning"`
			Note      string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || len(told.Jobs) != 2 || told.Jobs[0].Running != 3 || told.Jobs[0].Note != waves || told.Jobs[0].Ended != -1 {
		t.Errorf("%v: %s", err, stdout)
	}
}

// TestStatusTellsWhatJobsWaitFor would catch a waiting job without a reason.
func TestStatusTellsWhatJobsWaitFor(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	const line = "waits          job " + string(waitingJob) + " since 03:04:05: it needs 4 slots and has 0; other jobs hold 2; containers requested from YARN: 2, since 03:04:06\n"
	if code, stdout, stderr := command(t, s.env, "status"); code != ExitOK || strings.Count(stdout, "waits  ") != 2 || !strings.Contains(stdout, "\n"+line) {
		t.Errorf("exit code %d, stderr %q, stdout %q", code, stderr, stdout)
	}
	for _, verb := range []string{"status", "list"} {
		_, stdout, _ := command(t, s.env, verb, "-o", "json")
		var told struct{ Waiting []waiting }
		at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local).UnixMilli()
		want := []waiting{{Job: waitingJob, Needed: 4, Others: 2, Since: at, Why: []why{
			{Reason: msg.WaitsForYARN, Words: "containers requested from YARN: 2, since 03:04:06"}, {Reason: msg.OtherJobs, Words: "other jobs hold 2 slots"},
		}}}
		if err := json.Unmarshal([]byte(stdout), &told); err != nil || !cmp.Equal(told.Waiting, want) {
			t.Errorf("%s: %v: %s", verb, err, stdout)
		}
	}
}

// TestStatusTellsForWhichInputsVerticesWait would catch a vertex whose tasks cannot begin, and of which status says nothing.
func TestStatusTellsForWhichInputsVerticesWait(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	const (
		words = "1 task waits for the output of 4 tasks of “sp "
		line  = "waits          job " + string(runningJob) + ", vertex “sum”: " + words
	)
	if code, stdout, stderr := command(t, s.env, "status"); code != ExitOK || !strings.Contains(stdout, "\n"+line) {
		t.Errorf("exit code %d, stderr %q, stdout %q", code, stderr, stdout)
	}
	_, stdout, _ := command(t, s.env, "status", "-o", "json")
	var told struct{ WaitingForInputs []inputsWait }
	err := json.Unmarshal([]byte(stdout), &told)
	if err != nil || len(told.WaitingForInputs) != 1 || told.WaitingForInputs[0].Job != runningJob || len(told.WaitingForInputs[0].Vertices) != 1 {
		t.Fatalf("%v: %s", err, stdout)
	}
	if v := told.WaitingForInputs[0].Vertices[0]; v.Name != "sum" || v.Tasks != 1 || !strings.HasPrefix(v.Words, words) {
		t.Errorf("%+v", v)
	}
}

// TestStatusTellsHowJobsRun would catch a user who finds his job slower than before, and is not told that the cluster was too
// small for it.
func TestStatusTellsHowJobsRun(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	const line = "note           job " + string(runningJob) + ": " + waves + "\n"
	if code, stdout, stderr := command(t, s.env, "status"); code != ExitOK || strings.Count(stdout, "note ") != 1 || !strings.Contains(stdout, "\n"+line) {
		t.Errorf("exit code %d, stderr %q, stdout %q", code, stderr, stdout)
	}
	_, stdout, _ := command(t, s.env, "status", "-o", "json")
	var told struct{ Notes []note }
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || !cmp.Equal(told.Notes, []note{{runningJob, waves}}) {
		t.Errorf("%v: %s", err, stdout)
	}
}

// TestProgramsBesideTheMasterAreShown would catch a program that no command shows, or shows with a wrong id,
// and a list of jobs with other things in it.
func TestProgramsBesideTheMasterAreShown(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	const line = "program        sieve (" + driverID + ") since 2026-01-02 04:04:05, 12 MB, jobs submitted: 3\n"
	if code, stdout, stderr := command(t, s.env, "status"); code != ExitOK || !strings.Contains(stdout, "\n"+line) {
		t.Errorf("exit code %d, stderr %q, stdout %q", code, stderr, stdout)
	}
	_, stdout, _ := command(t, s.env, "status", "-o", "json")
	var told struct {
		Drivers []struct {
			Driver, Name            string
			Started, MemoryMB, Jobs int64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &told); err != nil {
		t.Errorf("%v: %s", err, stdout)
	}
	if d := told.Drivers; len(d) != 1 || d[0].Driver != driverID || d[0].Name != "sieve" || d[0].MemoryMB != 12 || d[0].Jobs != 3 ||
		d[0].Started != time.Date(2026, 1, 2, 4, 4, 5, 0, time.Local).UnixMilli() {
		t.Errorf("programs: %s", stdout)
	}
	for _, args := range [][]string{{"list", "-a"}, {"list", "-a", "-o", "json"}} {
		if _, stdout, _ := command(t, s.env, args...); strings.Contains(stdout, "sieve") || strings.Contains(stdout, "drivers") {
			t.Errorf("%v: %s", args, stdout)
		}
	}
}

// TestNodesThatAreSetAsideAreShown would catch a cluster that avoids a bad node without telling the user, and a
// host's output among the facts.
func TestNodesThatAreSetAsideAreShown(t *testing.T) {
	s := startFakeSession(t)
	_, stdout, stderr := command(t, s.env, "status", "-id", s.id.String())
	if !strings.Contains(stdout, "node n2 until 2026-01-02 05:04:05: program cannot be fetched:\n") || strings.Contains(stdout, "no space left") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	_, stdout, stderr = command(t, s.env, "status", "-o", "json", "-id", s.id.String())
	if !strings.Contains(stdout, `"blockedNodes":[{"node":"n2","cause":"program cannot be fetched:\nno space left on device","until":`) {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

// TestJobsAreCancelled would catch a job that continues, and a promised savepoint.
func TestJobsAreCancelled(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	if code, stdout, stderr := command(t, s.env, "cancel", string(runningJob)); code != ExitOK || stdout != "job "+string(runningJob)+" is being cancelled\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if diff := cmp.Diff([]string{"cancel " + string(runningJob)}, s.did); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if code, _, stderr := command(t, s.env, "cancel", "-s", "hdfs:///saved", string(runningJob)); code != ExitUsage || stderr != "bobbin: usage: savepoints are not supported yet: cancel the job without -s\n" {
		t.Errorf("with a savepoint: exit code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := command(t, s.env, "cancel", "-m", "yarn-cluster", "-yid", s.id.String(), string(runningJob)); code != ExitOK || len(s.did) != 2 {
		t.Errorf("as old scripts have it: exit code %d, stderr %q, asked %v", code, stderr, s.did)
	}
	if code, stdout, stderr := command(t, s.env, "list", "-m", "yarn-cluster", "-yid", s.id.String()); code != ExitOK || !strings.Contains(stdout, string(runningJob)) {
		t.Errorf("listed as old scripts have it: exit code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := command(t, s.env, "stop", "-m", "yarn-cluster", "-yid", s.id.String(), string(runningJob)); code != ExitFailed || !strings.Contains(stderr, "cannot be stopped with a savepoint yet") {
		t.Errorf("stopped as old scripts have it: exit code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := command(t, s.env, "stop", "-p", "hdfs:///saved", "-d", "-type", "native", string(runningJob)); code != ExitFailed || !strings.Contains(stderr, "cannot be stopped with a savepoint yet") {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}

// TestAProgramIsEndedByItsID would catch a program that a command shows and none can end, and a success for an
// id of neither a job nor a program.
func TestAProgramIsEndedByItsID(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	if code, stdout, stderr := command(t, s.env, "cancel", driverID); code != ExitOK || stdout != "program "+driverID+" has ended\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if diff := cmp.Diff([]string{"end " + driverID}, s.did); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if code, _, stderr := command(t, s.env, "cancel", unknownJob); code == ExitOK || !strings.Contains(stderr, "job not found") {
		t.Errorf("neither of them: exit code %d, stderr %q", code, stderr)
	}
}

// TestASessionIsStopped would catch a session that continues, a command that returns before YARN has reported
// the end, and later commands that look for the ended session.
func TestASessionIsStopped(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, s *fakeSession) (code int, stderr string){
		"by its command": func(t *testing.T, s *fakeSession) (int, string) {
			code, _, stderr := command(t, s.env, "session", "stop")
			return code, stderr
		},
		"by a word": func(t *testing.T, s *fakeSession) (int, string) {
			code, _, stderr := commandWith(t, s.env, strings.NewReader("what?\n\nhelp\n shop\n stop \n"), "session", "attach")
			const help = "Words: help, stop (stops the session and its jobs), quit (the same). Ctrl-C leaves the session running\n"
			want := "attached to session " + s.id.String() + "\n" + help + `unknown word "what?". ` + help + help +
				`unknown word "shop": did you mean stop?` + "\nstopping session " + s.id.String() + "\n"
			if diff := cmp.Diff(want, stderr[:min(len(want), len(stderr))]); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			return code, stderr
		},
		"by the command of Flink's script": func(t *testing.T, s *fakeSession) (int, string) {
			code, _, stderr := commandWith(t, s.env, strings.NewReader("quit\n"), "session", "start", "-id", s.id.String())
			return code, stderr
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startFakeSession(t)
			s.write(t, map[string]string{"parallelism.default": "4"})
			code, stderr := stop(t, s)
			if want := "session " + s.id.String() + " is FINISHED (SUCCEEDED). Its logs: bobbin logs " + s.id.String() + "\n"; code != ExitOK || !strings.HasSuffix(stderr, want) {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			if diff := cmp.Diff([]string{"shut down"}, s.did); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if _, err := os.Stat(s.path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file is there: %v", err)
			}
		})
	}
}

// TestAnAttachedCommandTellsScriptsOfTheEnd would catch output that is not exactly one object, or does not
// come.
func TestAnAttachedCommandTellsScriptsOfTheEnd(t *testing.T) {
	s := startFakeSession(t)
	id := s.id.String()
	for _, c := range []struct{ line, input, state, final string }{
		{"session start -d -o json -id " + id, "", "RUNNING", "UNDEFINED"},
		{"session attach -d -o json -id " + id, "", "RUNNING", "UNDEFINED"},
		{"session attach -o json -id " + id, "stop\n", "FINISHED", "SUCCEEDED"},
	} {
		code, stdout, stderr := commandWith(t, s.env, strings.NewReader(c.input), strings.Fields(c.line)...)
		var told struct{ Application, State, FinalStatus string }
		decoder := json.NewDecoder(strings.NewReader(stdout))
		if err := decoder.Decode(&told); err != nil || decoder.More() {
			t.Errorf("%s: stdout is not one JSON object: %q", c.line, stdout)
		}
		if code != ExitOK || told.Application != id || told.State != c.state || told.FinalStatus != c.final {
			t.Errorf("%s: exit code %d, told %+v, stderr %q", c.line, code, told, stderr)
		}
	}
	for _, line := range []string{"session start -o xml -id " + id, "session attach -o xml"} {
		if code, stdout, stderr := command(t, s.env, strings.Fields(line)...); code != ExitUsage || stdout != "" || stderr != "bobbin: usage: output format \"xml\": choose text or json\n" {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
	}
}

// TestAnAttachedCommandEndsWithTheSession would catch a prompt that survives its session, and one that takes
// the end of its input for a word.
func TestAnAttachedCommandEndsWithTheSession(t *testing.T) {
	s := startFakeSession(t)
	errs := notifying{when: "Words: ", do: func() {
		if err := s.ShutDown(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	code := Run(t.Context(), process(t, s.env, strings.NewReader(""), io.Discard, &errs, "session", "attach", "-id", s.id.String()))
	if code != ExitOK || !strings.Contains(errs.text, "is FINISHED (SUCCEEDED)") {
		t.Errorf("exit code %d, stderr %q", code, errs.text)
	}
}

// TestInterruptLeavesASessionThatIsNotOnesOwn would catch that Ctrl-C ends a session that another command has
// started.
func TestInterruptLeavesASessionThatIsNotOnesOwn(t *testing.T) {
	s := startFakeSession(t)
	input, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	var errs notifying
	errs.when, errs.do = "Words: ", func() { cancel(run.ErrInterrupted) }
	code := Run(ctx, process(t, s.env, input, io.Discard, &errs, "session", "attach", "-id", s.id.String()))
	if code != ExitInterrupted || !strings.Contains(errs.text, "which goes on") || len(s.did) != 0 {
		t.Errorf("exit code %d, stderr %q, asked %v", code, errs.text, s.did)
	}
}

// notifying calls a function on each Write.
type notifying struct {
	when string
	do   func()
	text string
}

func (n *notifying) Write(p []byte) (int, error) {
	n.text += string(p)
	if strings.Contains(string(p), n.when) {
		n.do()
	}
	return len(p), nil
}
