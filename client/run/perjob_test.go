package run

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestAJobHasEndedThoughYARNIsAway would catch a FINISHED job that becomes an error, and whose program is ended amid its
// work, since nobody answers whether the application has ended, too.
func TestAJobHasEndedThoughYARNIsAway(t *testing.T) {
	cluster := clusterOfTwo(t)
	var out bytes.Buffer
	job := targetOn(t, cluster, &out)
	submitted, err := job.submit(t.Context(), collecting())
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	defer withoutYARN(t, cluster)()
	if err := job.settle(t.Context()); err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, submitted.application) || !strings.Contains(got, "bobbin gc") || strings.Count(got, "\n") != 1 {
		t.Errorf("printed %q", got)
	}
}

// TestASubmittedApplicationOutlivesASilentYARN would catch an application that waits in its queue and loses its files because
// YARN does not answer its client, an error that does not say that it may run, and one that goes on after Ctrl-C.
func TestASubmittedApplicationOutlivesASilentYARN(t *testing.T) {
	cluster := clusterOfTwo(t)
	home, err := client.StagingHome(cluster.Files, cluster.Conf, config.Config{}.String(config.YarnStagingDirectory))
	if err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"YARN is away": true, "Ctrl-C": false} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		back := func() {}
		var application string
		job := targetOn(t, cluster, hears(func(line []byte) {
			id, submitted := strings.CutPrefix(string(line), "submitted ")
			switch {
			case !submitted:
				return
			case stays:
				back = withoutYARN(t, cluster)
			default:
				interrupt(ErrInterrupted)
			}
			application = strings.TrimSpace(id)
		}))
		_, err := job.submit(ctx, collecting())
		back()
		id, unread := records.ParseApplicationID(application)
		if unread != nil {
			t.Fatalf("%s: %v, %v", name, err, unread)
		}
		if says := strings.Contains(err.Error(), "bobbin kill "+application); client.Unheard(err) != stays || says != stays || errors.Is(err, ErrInterrupted) == stays {
			t.Errorf("%s: %v", name, err)
		}
		report, err := cluster.Report(t.Context(), id)
		if err != nil || report.State.Terminal() == stays {
			t.Errorf("%s: it is %s, %v", name, report.State, err)
		}
		if _, err := cluster.Files.Stat(t.Context(), staging.Dir(home, application)); errors.Is(err, fs.ErrNotExist) == stays || stays && err != nil {
			t.Errorf("%s: of its files: %v", name, err)
		}
	}
}

// errLost is the error of an answer that does not arrive.
var errLost = errors.New("the answer is lost")

// parting is an ApplicationMaster that ends before its client has all answers.
type parting struct {
	rest.Gateway
	whole bool   // whether all collected records arrive
	leave func() // returns when YARN has recorded the end
}

func (parting) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	return msg.JobDetails{ID: job, Name: "words", Status: msg.JobFinished}, nil
}

func (p parting) CollectPage(context.Context, ids.JobID, string, int64, time.Duration) (msg.CollectPage, error) {
	if p.whole {
		return msg.CollectPage{End: true}, nil
	}
	p.leave()
	return msg.CollectPage{}, errLost
}

func (p parting) JobResult(context.Context, ids.JobID, time.Duration) (msg.JobEnded, error) {
	p.leave()
	return msg.JobEnded{}, errLost
}

// reachable is a job with a cluster of its own, whose master is known.
type reachable struct {
	*perJob
	master func() (*client.ClusterClient, error)
}

func (r reachable) reach(context.Context) (*client.ClusterClient, error) { return r.master() }

// TestWhatHasComeIsNotFetchedAgain would catch an error that tells the user to run a job again, although all collected
// records have arrived and only the last answer is lost. It would also catch lost records without an error.
func TestWhatHasComeIsNotFetchedAgain(t *testing.T) {
	for _, whole := range []bool{true, false} {
		end, ended := make(chan struct{}), make(chan struct{})
		cluster := clusterRunning(t, func(ctx context.Context, rm *amrm.Client, _ yarnfake.Container) records.ExitStatus {
			defer close(ended)
			select {
			case <-end:
				if err := rm.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil { // ctx ends before YARN's answer
					t.Error(err)
				}
			case <-ctx.Done():
			}
			return 0
		})
		var out bytes.Buffer
		job := targetOn(t, cluster, &out)
		graph := collecting()
		submitted, err := job.submit(t.Context(), graph)
		if err != nil {
			t.Fatal(err)
		}
		access := resttest.Serve(t, parting{whole: whole, leave: func() {
			close(end)
			if _, err := cluster.AwaitEnd(t.Context(), job.app.ID); err != nil {
				t.Error(err)
			}
		}}, rest.Config{})
		d, err := driver.Start(t.Context(), os.Args[0], []string{attentive}, driver.Options{Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		r := runner{
			Journal: job.Journal, limits: limitsOf(config.Config{}),
			cluster: reachable{job, func() (*client.ClusterClient, error) { return client.NewClusterClient(access) }},
		}
		r.Outcome.begin(submitted.id, graph.Name)
		unfinished, err := r.follow(t.Context(), d, submitted, graph)
		if unfinished != nil || (err == nil) != whole || r.Outcome.JobStatus == string(msg.JobFinished) != whole {
			t.Errorf("all has come %t: unfinished %v, error %v, it is %q", whole, unfinished, err, r.Outcome.JobStatus)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		<-ended // Finish may still wait for YARN's answer
	}
}

// collectsAnew is an ApplicationMaster that runs a job again, and dies when a part of its results has come.
type collectsAnew struct{ rest.Gateway }

func (collectsAnew) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	return msg.JobDetails{ID: job, Name: "words", Status: msg.JobRunning}, nil
}

func (collectsAnew) CollectPage(_ context.Context, _ ids.JobID, _ string, cursor int64, _ time.Duration) (msg.CollectPage, error) {
	if cursor == 7 {
		return msg.CollectPage{}, errLost
	}
	return msg.CollectPage{Epoch: 20, Next: 7}, nil
}

// TestWhatHasComeCountsUntilTheJobCollectsAnew would catch a job that counts as FINISHED without results, because those of its
// first attempt, which no longer count, have arrived. It would also catch results that are said to be missing, although all
// have arrived, because the next attempt only ends the application.
func TestWhatHasComeCountsUntilTheJobCollectsAnew(t *testing.T) {
	access := resttest.Serve(t, collectsAnew{}, rest.Config{})
	for _, c := range []struct {
		master func() (*client.ClusterClient, error)
		counts bool
	}{
		{func() (*client.ClusterClient, error) { return nil, errLost }, true},
		{func() (*client.ClusterClient, error) { return client.NewClusterClient(access) }, false},
	} {
		d, err := driver.Start(t.Context(), os.Args[0], []string{attentive}, driver.Options{Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			t.Fatal(err)
		}
		graph := collecting()
		job := &running{id: oneJob, name: "job words", collected: true}
		for _, v := range graph.Vertices {
			if v.Collect != "" {
				*job.reads(v.Collect) = reading{name: v.Collect, cursor: 3, epoch: 10, whole: true}
			}
		}
		r := runner{Journal: NewJournal(&bytes.Buffer{}, time.Now(), false), limits: limitsOf(config.Config{}), cluster: place{master: c.master}}
		if _, err := r.followJob(t.Context(), d, job, graph); err == nil || job.collected != c.counts {
			t.Errorf("%v, and what it collects has come: %t, want %t", err, job.collected, c.counts)
		}
		_ = d.HangUp()
		_ = d.Close()
	}
}
