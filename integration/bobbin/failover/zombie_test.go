package failover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// hasty are properties of a ResourceManager that soon gives up silent nodes, and silent ApplicationMasters later. So the
// node of an ApplicationMaster that falls silent with it is lost before the next one could be started there. Nodes
// report every 200 ms, and the ResourceManager looks three times in each interval.
func hasty() map[string]string {
	return map[string]string{
		"yarn.nm.liveness-monitor.expiry-interval-ms": "6000",
		"yarn.am.liveness-monitor.expiry-interval-ms": "20000",
	}
}

// oftenHeard are flags of an ApplicationMaster that YARN hears often enough for hasty.
func oftenHeard() []string { return []string{"-D", "yarn.heartbeat.interval=1"} }

// TestAZombieChangesNothing kills the ResourceManager below a session with a job, and then freezes the node of the
// session's ApplicationMaster, lets YARN replace it on another node, and wakes it up. It would catch a master that gives
// up or ends its jobs without a ResourceManager, one whose workers the new ResourceManager does not recognize, and a
// session that cannot get workers for another job. For the zombie see wakeZombie.
func TestAZombieChangesNothing(t *testing.T) {
	c := clusters.Change(t, suite.Kind(clusters.Victim), "kills the ResourceManager, and pauses the NodeManager of an ApplicationMaster")
	u := suite.UserOf(t, c, bobbintest.Alice)
	s := startSession(t, u, 1, oftenHeard()...)
	before := processes(t, s.id)
	if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.Reconfigure(t.Context(), "resourcemanager", hasty()); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "YARN has the session running again", func() (bool, error) {
		app, err := c.RM().App(t.Context(), s.id)
		return err == nil && app.State == "RUNNING", nil // its web server answers before it has read them
	})
	s.running[0].AwaitTasks(t)
	checkStayed(t, s.id, before)
	s.run(t) // in a new worker
	wakeZombie(t, s)

	for i := 1; i < cluster.Times(t, 20); i++ {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) { wakeZombie(t, startSession(t, u, 1, oftenHeard()...)) })
	}
}

// wakeZombie would catch a zombie that accepts a job or a cancellation, even one that was sent before it woke up; that
// writes anything, or stops anything; or that ends in another way than with exit code 2. It would catch a successor
// without the jobs, and output that is lost, doubled or half.
func wakeZombie(t *testing.T, s *session) {
	t.Helper()
	c := s.user.Cluster
	zombie := master(t, s.id)
	node := freeze(t, c, zombie)
	answers := askFrozen(t, s)
	s.checkFollowed(t)
	if next := master(t, s.id, zombie); next.Variable(t, "NM_HOST") == node.host {
		t.Errorf("%s of the next attempt is on the lost node", next)
	}

	before, audit := processes(t, s.id), auditFrom(t, c)
	zombie.Signal(t, syscall.SIGCONT)
	if code := s.user.ExitCode(t, zombie.Container); code != 2 {
		t.Errorf("the zombie has ended with exit code %d, want 2", code)
	}
	audit.check(t, s.user.StagingOf(s.id), s.running[0].Output)
	answers(t)
	checkAlive(t, s.id, before)
	node.resume(t)
	s.checkEnds(t)
}

// node is a node whose NodeManager is paused.
type node struct {
	host   string
	resume func(t *testing.T)
}

// freeze stops a process with SIGSTOP, and the NodeManager of its node before.
func freeze(t *testing.T, c *cluster.Cluster, p bobbintest.Process) node {
	t.Helper()
	host := p.Variable(t, "NM_HOST")
	name := fmt.Sprintf("nodemanager%d", slices.Index(c.NodeManagers(), host)+1)
	if err := c.Pause(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	p.Signal(t, syscall.SIGSTOP)
	return node{host, func(t *testing.T) {
		if err := c.Resume(name); err != nil {
			t.Fatal(err)
		}
		wait.For(t, name+" is back", func() (bool, error) {
			nodes, err := c.RM().Nodes(t.Context())
			return slices.ContainsFunc(nodes, func(n cluster.RMNode) bool { return n.Host == host && n.State == "RUNNING" }), err
		})
	}}
}

// askFrozen asks a frozen ApplicationMaster to cancel the running job and to run another one. The kernel takes the
// requests, and the process reads them when it wakes up. check checks the answers.
func askFrozen(t *testing.T, s *session) (check func(t *testing.T)) {
	t.Helper()
	d := s.running[0]
	body := submission(t, s)
	type answer struct {
		what string
		bobbintest.Answer
		err error
	}
	requests := []func() answer{
		func() answer {
			a, err := d.Master.Ask(t.Context(), http.MethodPatch, "/jobs/"+d.Job, nil, http.NoBody)
			return answer{"the cancellation", a, err}
		},
		func() answer {
			a, err := d.Master.Ask(t.Context(), http.MethodPost, "/jobs", nil, bytes.NewReader(body))
			return answer{"the job", a, err}
		},
	}
	got := make(chan answer, len(requests))
	for _, request := range requests {
		go func() { got <- request() }() // ends with the process that is asked
	}
	return func(t *testing.T) {
		t.Helper()
		for range requests {
			if a := <-got; a.err == nil && a.Status/100 == 2 {
				t.Errorf("the zombie has accepted %s: %s", a.what, a.Answer)
			}
		}
	}
}

// submission returns the request that submits a session's running job once more, under another id.
func submission(t *testing.T, s *session) []byte {
	t.Helper()
	d := s.running[0]
	files := s.user.Files(t)
	reigns, err := s.user.Reigns(t.Context(), files, s.id)
	if err != nil || len(reigns) != 1 {
		t.Fatalf("the directories of %s are %v, %v", s.id, reigns, err)
	}
	stored, err := files.ReadFile(t.Context(), s.user.StagingOf(s.id)+"/"+reigns[0].String()+"/jobs/"+d.Job+"/graph", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var job restapi.JobSubmission
	if err := json.Unmarshal(stored, &job.Graph); err != nil {
		t.Fatal(err)
	}
	p, err := program.Inspect(d.Args[0], program.Native())
	if err != nil {
		t.Fatal(err)
	}
	job.Program = restapi.ProgramID{Name: p.Name, SHA256: p.SHA256}
	body, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// audit is the part of the NameNodes' logs after some point.
type audit map[string]int64 // the length of each file at that point

func auditFrom(t *testing.T, c *cluster.Cluster) audit {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(c.LogDir(), "namenode*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("logs of NameNodes: %q, %v", logs, err)
	}
	a := make(audit)
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		a[log] = info.Size()
	}
	return a
}

// check checks that since then nobody has changed a file with one of these texts in its path.
func (a audit) check(t *testing.T, paths ...string) {
	t.Helper()
	for log, begin := range a {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text[begin:])) {
			_, command, is := strings.Cut(line, "cmd=")
			if !is || !strings.Contains(line, "allowed=true") {
				continue
			}
			command, _, _ = strings.Cut(command, "\t")
			if !slices.Contains([]string{"open", "getfileinfo", "listStatus", "contentSummary"}, command) &&
				slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(line, path) }) {
				t.Errorf("HDFS was changed: %s", line)
			}
		}
	}
}
