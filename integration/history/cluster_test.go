package history

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// states are the states of the jobs that a history server lists.
func states(t *testing.T, base string) map[string]msg.JobStatus {
	t.Helper()
	return wait.Answer(t, "the list of jobs", func() (map[string]msg.JobStatus, error) {
		response, err := http.Get(strings.TrimSuffix(base, "/") + "/jobs/overview")
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		var list struct {
			Jobs []struct {
				ID    string `json:"jid"`
				State msg.JobStatus
			}
		}
		err = json.Unmarshal(text, &list)
		known := make(map[string]msg.JobStatus)
		for _, j := range list.Jobs {
			known[j.ID] = j.State
		}
		return known, err
	})
}

// awaitState waits until a history server shows a job in a state.
func awaitState(t *testing.T, base, job string, state msg.JobStatus) {
	t.Helper()
	wait.Until(t, "job "+job+" is shown as "+string(state), func() bool { return states(t, base)[job] == state })
}

// count runs the word count with these flags, and returns its job and application.
func count(t *testing.T, u *bobbintest.User, flags ...string) bobbintest.Report {
	t.Helper()
	dir := u.Scratch(t)
	u.Put(t, suite.Generate(t, "-size", "100k", "-files", "1"), dir+"/text")
	got := u.Run(t, slices.Concat([]string{"run", "-o", "json"}, flags, []string{"-p", "1", suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", dir + "/counts"})...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	return got.JSON(t)
}

// checkLink follows YARN's link to an application that has ended.
func checkLink(t *testing.T, u *bobbintest.User, s *bobbintest.HistoryServer, application, job string) {
	t.Helper()
	u.WaitEnded(t, application)
	report := u.Report(t, application)
	if report.OriginalTrackingURL != s.URL {
		t.Errorf("%s leads to %q, want %q", application, report.OriginalTrackingURL, s.URL)
	}
	response, err := http.Get(report.TrackingURL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if at := response.Request.URL; response.StatusCode != http.StatusOK || "http://"+at.Host != s.URL {
		t.Fatalf("YARN's link %s leads to %s: %s", report.TrackingURL, at, response.Status)
	}
	awaitState(t, response.Request.URL.String(), job, msg.JobFinished)
}

// TestYARNsLinkLeadsToTheHistory would catch jobs of an application or of a session that are not archived on HDFS, and a link
// of YARN that is dead when the application has ended. See checkRetention for what it would catch besides.
func TestYARNsLinkLeadsToTheHistory(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	s := u.HistoryServer(t, u.Scratch(t), bobbintest.Option(config.HistoryWorkerLog.Name(), "http://logs/<tmid>/taskmanager.log")...)
	putFlinks(t, u, s.Dir)
	small := append([]string{"-t", "yarn-per-job", "-jm", "256m", "-tm", "320m"}, s.Options()...)
	one := count(t, u, small...)
	checkLink(t, u, s, one.Application, one.Job)

	worker := workerOf(t, s, one.Job)
	if got, want := logOf(t, s, one.Job, worker), "http://logs/"+worker+"/taskmanager.log"; got != want {
		t.Errorf("the worker's log is at %q, want %q", got, want)
	}

	session := u.StartSession(t, append([]string{"-jm", "256m", "-tm", "320m"}, s.Options()...)...)
	two := count(t, u, "-t", "yarn-session", "-id", session)
	awaitState(t, s.URL, two.Job, msg.JobFinished) // while the session runs
	if got := u.Run(t, "session", "stop", "-id", session); got.Code != 0 {
		t.Fatal(got)
	}
	checkLink(t, u, s, session, two.Job)
	checkRetention(t, u, s, one.Job, two.Job)
}

// workerOf returns the worker that ran the only subtask of a job's first vertex.
func workerOf(t *testing.T, s *bobbintest.HistoryServer, job string) string {
	t.Helper()
	var answer struct {
		Subtasks []struct {
			Worker string `json:"taskmanager-id"`
		}
	}
	var vertices struct{ Vertices []struct{ ID string } }
	get(t, s.URL+"/jobs/"+job, &vertices)
	if len(vertices.Vertices) == 0 {
		t.Fatal("the job has no vertices")
	}
	get(t, s.URL+"/jobs/"+job+"/vertices/"+vertices.Vertices[0].ID, &answer)
	if len(answer.Subtasks) != 1 || !strings.HasPrefix(answer.Subtasks[0].Worker, "container_") {
		t.Fatalf("the subtasks are %+v", answer.Subtasks)
	}
	return answer.Subtasks[0].Worker
}

// logOf returns the URL of the log of a job's worker.
func logOf(t *testing.T, s *bobbintest.HistoryServer, job, worker string) string {
	t.Helper()
	var log struct{ URL string }
	get(t, s.URL+"/jobs/"+job+"/taskmanagers/"+worker+"/log-url", &log)
	return log.URL
}

// flinksJob is a job whose archive a real Flink has written; see TestFlinksArchivesAreShown in historyserver.
const flinksJob = "3924cd6c817d7e03d838bb3a0a3fc041"

// retaining are the flags of a history server that leaves the newest archive in each directory.
func retaining() []string { return bobbintest.Option(config.HistoryRetained.Name(), "1") }

// putFlinks puts the archive of Flink's job into a directory on HDFS.
func putFlinks(t *testing.T, u *bobbintest.User, dir string) {
	t.Helper()
	u.Put(t, "../../historyserver/testdata/"+flinksJob, dir+"/"+flinksJob)
}

// awaitNames waits until a directory on HDFS has these archives, and no others.
func awaitNames(t *testing.T, u *bobbintest.User, dir string, want ...string) {
	t.Helper()
	slices.Sort(want)
	wait.Satisfied(t, "the archives on HDFS are those that stay", func() error {
		names := u.Names(t, dir)
		if slices.Sort(names); !slices.Equal(names, want) {
			return fmt.Errorf("they are %q, want %q", names, want)
		}
		return nil
	})
}

// checkRetention would catch a server that leaves more archives on HDFS than it may, removes the newest one, or shows a job that it
// should forget; and one that forgets a job that it should keep.
func checkRetention(t *testing.T, u *bobbintest.User, keeping *bobbintest.HistoryServer, older, newer string) {
	t.Helper()
	kept := []string{flinksJob, older, newer}
	for _, job := range kept {
		awaitState(t, keeping.URL, job, msg.JobFinished)
	}
	awaitNames(t, u, keeping.Dir, kept...)
	retained := u.HistoryServer(t, keeping.Dir, append(retaining(), bobbintest.Option(config.HistoryCleanExpired.Name(), "true")...)...)
	awaitNames(t, u, keeping.Dir, newer)
	awaitState(t, retained.URL, newer, msg.JobFinished)
	if list := states(t, retained.URL); len(list) != 1 {
		t.Errorf("the newest archive may stay, and the server shows %v", list)
	}
	if err := u.Files(t).Remove(t.Context(), keeping.Dir+"/"+newer); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the job whose archive was removed is forgotten", func() bool { return len(states(t, retained.URL)) == 0 })
	if list := states(t, keeping.URL); len(list) != len(kept) {
		t.Errorf("a server that forgets nothing shows %v, want %q", list, kept)
	}
}

func get(t *testing.T, url string, v any) {
	t.Helper()
	if err := json.Unmarshal(fetch(t, url), v); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}

// TestTheLastStateStays would catch a job without a trace when all ApplicationMasters of its application have died. The first server
// may know the job from before: the second one has only the last archive.
func TestTheLastStateStays(t *testing.T) {
	cluster.Long(t) // the archive of a running job comes after a minute
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	s := u.HistoryServer(t, u.Scratch(t))
	d := suite.Dawdle(t, u, append(s.Options(), "-p", "1", "-s", "1", "-D", "yarn.application-attempts=1")...)
	awaitState(t, s.URL, d.Job, msg.JobRunning)
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	if app := u.WaitEnded(t, d.Application); app.State != "FAILED" {
		t.Errorf("YARN says %s", app.State)
	}
	awaitState(t, s.URL, d.Job, msg.JobRunning)
	later := u.HistoryServer(t, s.Dir)
	awaitState(t, later.URL, d.Job, msg.JobRunning)
	var plan struct {
		Plan struct{ Nodes []struct{ ID string } }
	}
	if get(t, later.URL+"/jobs/"+d.Job+"/plan", &plan); len(plan.Plan.Nodes) == 0 {
		t.Error("the last archive has no plan of the job")
	}
}

// TestTheHistoryOfASecureCluster would catch an application without a token for the file system of its archives, a server that
// needs a ticket, and a server that shows or removes what its user may not, or does not remove what it should.
func TestTheHistoryOfASecureCluster(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	alice, bob := suite.UserOf(t, c, bobbintest.Alice), suite.UserOf(t, c, clusters.Bob)
	dir := alice.Scratch(t)
	if err := alice.Files(t).MkdirAllMode(t.Context(), dir+"/secret", 0o700); err != nil {
		t.Fatal(err)
	}
	putFlinks(t, alice, dir)
	putFlinks(t, alice, dir+"/secret")
	shown, hidden := bob.WithoutTicket().HistoryServer(t, dir, keytab(bob)...), bob.WithoutTicket().HistoryServer(t, dir+"/secret", keytab(bob)...)
	own := alice.WithoutTicket().HistoryServer(t, dir+"/secret", keytab(alice)...)
	small := slices.Concat([]string{"-t", "yarn-per-job", "-jm", "256m", "-tm", "448m"}, keytab(alice))
	open := count(t, alice, append(small, shown.Options()...)...)
	secret := count(t, alice, append(small, hidden.Options()...)...)
	awaitState(t, shown.URL, open.Job, msg.JobFinished)
	awaitState(t, own.URL, secret.Job, msg.JobFinished)
	if list := states(t, hidden.URL); len(list) > 0 {
		t.Errorf("bob may not read the directory, and his server shows %v", list)
	}
	removing := append(retaining(), keytab(bob)...)
	awaitState(t, bob.WithoutTicket().HistoryServer(t, dir, removing...).URL, open.Job, msg.JobFinished)
	awaitNames(t, alice, dir, open.Job, flinksJob, "secret") // bob may not remove archives of alice
	removing = append(retaining(), keytab(alice)...)
	alice.WithoutTicket().HistoryServer(t, dir+"/secret", removing...)
	awaitNames(t, alice, dir+"/secret", secret.Job)
	if report := alice.Report(t, open.Application); report.OriginalTrackingURL != shown.URL {
		t.Errorf("YARN's link leads to %q, want %q", report.OriginalTrackingURL, shown.URL)
	}
}

// keytab are the options of a login from a user's keytab.
func keytab(u *bobbintest.User) []string {
	return slices.Concat(bobbintest.Option("security.kerberos.login.keytab", u.Cluster.Keytab(u.Name)),
		bobbintest.Option("security.kerberos.login.principal", u.Name+"@"+cluster.Realm), bobbintest.Option("security.kerberos.krb5-conf.path", u.Cluster.Krb5Conf()))
}
