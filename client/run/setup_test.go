package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// preparing is a master whose job is INITIALIZING for two requests, and then has another status.
type preparing struct {
	rest.Gateway
	then  msg.JobStatus
	asked *atomic.Int32
}

func (p preparing) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	status := p.then
	if p.asked.Add(1) <= 2 {
		status = msg.JobInitializing
	}
	return msg.JobDetails{ID: job, Name: "words", Status: status}, nil
}

func (p preparing) JobResult(_ context.Context, job ids.JobID, _ time.Duration) (msg.JobEnded, error) {
	return msg.JobEnded{Job: job, Status: p.then, Failure: msg.NewFailure("no such option", "")}, nil
}

// over is the cluster of a job whose application has ended.
type over struct {
	place
	alone bool
	final records.FinalApplicationStatus
}

func (o over) submit(ctx context.Context, _ *jobgraph.JobGraph) (*running, error) {
	job, err := o.place.submit(ctx, nil)
	job.alone = o.alone
	return job, err
}

func (o over) report(context.Context) (records.ApplicationReport, error) {
	return records.ApplicationReport{State: records.ApplicationFinished, FinalStatus: o.final, Diagnostics: "its disk is full"}, nil
}

// TestADetachedJobIsSetUp would catch a command that succeeds, although its job could not be set up.
func TestADetachedJobIsSetUp(t *testing.T) {
	t.Parallel()
	gone := errors.New("no route to host")
	unreachable := place{master: func() (*client.ClusterClient, error) { return nil, gone }}
	master := func(then msg.JobStatus) (place, *atomic.Int32) {
		asked := new(atomic.Int32)
		access := resttest.Serve(t, preparing{then: then, asked: asked}, rest.Config{})
		return place{master: func() (*client.ClusterClient, error) { return client.NewClusterClient(access) }}, asked
	}
	runs, asked := master(msg.JobRunning)
	fails, _ := master(msg.JobFailed)
	for name, test := range map[string]struct {
		cluster cluster
		want    string // in the error; "" for success
		printed string
	}{
		"it runs":                          {runs, "", "job words runs."},
		"it cannot be set up":              {fails, "job words is FAILED: no such option", "no such option"},
		"its master cannot be reached":     {unreachable, "", "cannot see whether job words begins"},
		"its application has failed":       {over{unreachable, true, records.FinalFailed}, "its disk is full", ""},
		"its application has succeeded":    {over{unreachable, true, records.FinalSucceeded}, "", "job words runs."},
		"its session has ended without it": {over{unreachable, false, records.FinalSucceeded}, "has ended", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := driver.Start(t.Context(), os.Args[0], []string{deaf}, driver.Options{Detached: true, Stderr: os.Stderr})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			limits := limitsOf(config.Config{})
			limits.attached = false
			r := runner{Journal: NewJournal(&out, time.Now(), false), limits: limits, cluster: test.cluster}
			job, unfinished, err := r.execute(t.Context(), d, collecting())
			if err == nil && unfinished != nil {
				err = r.failed(unfinished.cause, unfinished.stack)
			}
			if job == nil || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
			if !strings.Contains(out.String(), test.printed) {
				t.Errorf("printed %q, want %q", out.String(), test.printed)
			}
			_ = d.HangUp()
			_ = d.Close()
		})
	}
	if asked.Load() < 3 {
		t.Errorf("the command asked %d times, and the job was INITIALIZING for two", asked.Load())
	}
}
