package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	viewers    = 10
	viewerRuns = 3
	viewedFor  = time.Minute
	// mostShare is the goal: the part of a core that the viewers cost.
	mostShare = 0.01
)

// question is a path of REST that a part of the page asks for, and the time from one request to the next.
type question struct {
	path  string
	every time.Duration
}

// shown are the questions of a page; see usePoll in web/src.
type shown struct {
	name      string
	questions []question
}

// shownPages are the pages that people leave open. A JOB, a VERTEX and a WORKER in a path are those of the running job.
func shownPages() []shown {
	const fast, slow, rarely = 2 * time.Second, 5 * time.Second, time.Minute
	frame := []question{{"overview", fast}, {"config", rarely}, {"access", rarely}}
	page := func(name string, own ...question) shown { return shown{name, append(own, frame...)} }
	return []shown{
		page("overview", question{"jobs/overview", fast}, question{"slots", fast}, question{"taskmanagers", fast},
			question{"jobs/JOB/vertices", 2 * fast}, question{"jobs/JOB/waiting", 2 * fast}, question{"jobs/JOB/exceptions", rarely},
			question{"application", 2 * slow}, question{"start", slow}),
		page("job, with a vertex open", question{"jobs/JOB", fast}, question{"jobs/JOB/vertices", fast}, question{"jobs/JOB/waiting", fast},
			question{"jobs/JOB/vertices/VERTEX?backpressure=true", fast}),
		page("worker", question{"taskmanagers/WORKER", 3 * time.Second}, question{"jobs/overview", slow}, question{"taskmanagers/WORKER/hosts", slow},
			question{"taskmanagers/WORKER/metrics?get=Status.Process.Memory.Resident,Status.Container.Memory.Resident,Status.Go.CPU.Load", 3 * time.Second}),
	}
}

// pageViewers measures what people who look at the page cost the ApplicationMaster.
func pageViewers(ctx context.Context, r *rig) (t table, err error) {
	t = table{
		title: "Viewers of the page",
		text: fmt.Sprintf("The processor time of a session's ApplicationMaster in %v, from `/proc`, as a share of one core. The session runs a job "+
			"with %d tasks, each in a worker of its own. In turns, nobody looks, and %d viewers look at one of the pages. Each asks "+
			"for the paths of the page at its intervals, over TLS and connections of its own. The goal is for the difference.",
			viewedFor, lingering, viewers),
		head: []string{"page", "to reach", "share of a core", "requests in a second", "more than without viewers"},
	}
	input, err := r.hours(ctx)
	if err != nil {
		return t, err
	}
	b := &lingeringBobbin{bobbin{r, input}}
	_, report, err := r.submit(ctx, b, b.session())
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, r.end(ctx, report.ID)) }()
	master, err := r.runsLingering(ctx, b, report.ID)
	if err != nil {
		return t, err
	}
	access, err := r.client.Access(ctx, report.ID)
	if err != nil {
		return t, err
	}
	names, err := namesOf(ctx, access)
	if err != nil {
		return t, err
	}
	pages := append([]shown{{name: "none"}}, shownPages()...)
	views := make([][]view, len(pages))
	for range r.runs(viewerRuns) {
		for i, page := range pages {
			v, err := page.view(ctx, master, access, names)
			if err != nil {
				return t, err
			}
			views[i] = append(views[i], v)
		}
	}
	for i, page := range pages {
		share, requests := sharesOf(views[i]), median(requestsOf(views[i]))
		if i == 0 {
			t.row(page.name, "", spread(share, percent), "", "")
			continue
		}
		more := median(share) - median(sharesOf(views[0]))
		cells := []string{page.name, percent(mostShare), spread(share, percent), fmt.Sprintf("%.0f", requests), percent(more)}
		if more > mostShare {
			for c := range cells {
				cells[c] = "**" + cells[c] + "**"
			}
		}
		t.row(cells...)
	}
	return t, nil
}

// runsLingering starts the lingering job in a session, waits until all of its tasks run, and returns the ApplicationMaster's
// process.
func (r *rig) runsLingering(ctx context.Context, b *lingeringBobbin, session records.ApplicationID) (master int, err error) {
	if _, _, err := r.runIn(ctx, b.environment(), b.linger(session.String())...); err != nil {
		return 0, err
	}
	err = await(ctx, "all tasks run", func() (bool, error) {
		_, running, err := b.look(ctx, session, 1)
		if errors.Is(err, errNotYet) {
			return false, nil
		}
		return err == nil && running >= lingering, err
	})
	if err != nil {
		return 0, err
	}
	master, err = masterProcess(session, 1, b)
	if err == nil && master == 0 {
		err = fmt.Errorf("no process on this machine is the ApplicationMaster of %s", session)
	}
	return master, err
}

// view is what was measured of a page.
type view struct {
	share    float64 // of a core
	requests float64 // in a second
}

func sharesOf(views []view) (shares []float64) {
	for _, v := range views {
		shares = append(shares, v.share)
	}
	return shares
}

func requestsOf(views []view) (requests []float64) {
	for _, v := range views {
		requests = append(requests, v.requests)
	}
	return requests
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", share*100) }

// view measures the ApplicationMaster while the viewers look at a page.
func (s shown) view(ctx context.Context, master int, access launch.Access, names *strings.Replacer) (v view, err error) {
	looking, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group // ends with looking
	answered := make([]int, viewers*len(s.questions))
	for n := range viewers {
		client, err := s.viewer(access)
		if err != nil {
			return v, err
		}
		defer client.CloseIdleConnections()
		for q, asked := range s.questions {
			group.Go(func() error {
				url := "https://" + access.Address + "/v1/" + names.Replace(asked.path) + maxAgeOf(asked.path)
				count := &answered[n*len(s.questions)+q]
				return polls(looking, asked.every, func() error {
					*count++
					_, err := get(looking, client, url, access.Viewer)
					return err
				})
			})
		}
	}
	took, err := busyFor(ctx, master)
	stop()
	if err := errors.Join(err, group.Wait()); err != nil {
		return v, fmt.Errorf("look at %s: %w", s.name, err)
	}
	for _, n := range answered {
		v.requests += float64(n) / viewedFor.Seconds()
	}
	v.share = took
	return v, nil
}

// busyFor is the share of a core that a process takes, measured over viewedFor.
func busyFor(ctx context.Context, pid int) (float64, error) {
	if err := pause.For(ctx, 5*time.Second); err != nil { // until the viewers have connected, and those before have gone
		return 0, err
	}
	before, err := processCPU(pid)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := pause.For(ctx, viewedFor); err != nil {
		return 0, err
	}
	after, err := processCPU(pid)
	return float64(after-before) / float64(time.Since(began)), err
}

// polls calls f at an interval until ctx ends, first at a random time within it: viewers open the page at any time.
func polls(ctx context.Context, every time.Duration, f func() error) error {
	for wait := rand.N(every); pause.For(ctx, wait) == nil; wait = every {
		if err := f(); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// maxAgeOf says, as the page does, that an answer may be a second old.
func maxAgeOf(path string) string {
	if strings.Contains(path, "?") {
		return "&maxAge=1000"
	}
	return "?maxAge=1000"
}

// viewer makes the client of one person, who has the certificate authority of the application.
func (shown) viewer(access launch.Access) (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(access.Authority) {
		return nil, errors.New("the access file has no certificate authority")
	}
	return &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 6, MaxConnsPerHost: 6, TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

// get reads a path of REST.
func get(ctx context.Context, client *http.Client, url, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %.200s", url, response.Status, body)
	}
	return body, err
}

// namesOf finds the job, a vertex and a worker to look at.
func namesOf(ctx context.Context, access launch.Access) (*strings.Replacer, error) {
	client, err := shown{}.viewer(access)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	read := func(path string, into any) error {
		body, err := get(ctx, client, "https://"+access.Address+"/v1/"+path, access.Viewer)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, into)
	}
	var jobs struct{ Jobs []struct{ JID string } }
	if err := read("jobs/overview", &jobs); err != nil || len(jobs.Jobs) != 1 {
		return nil, errors.Join(fmt.Errorf("the session has %d jobs, want 1", len(jobs.Jobs)), err)
	}
	job := jobs.Jobs[0].JID
	var details struct{ Vertices []struct{ ID string } }
	if err := read("jobs/"+job, &details); err != nil || len(details.Vertices) == 0 {
		return nil, errors.Join(errors.New("the job has no vertex"), err)
	}
	var workers struct{ TaskManagers []struct{ ID string } }
	if err := read("taskmanagers", &workers); err != nil || len(workers.TaskManagers) == 0 {
		return nil, errors.Join(errors.New("the session has no worker"), err)
	}
	return strings.NewReplacer("JOB", job, "VERTEX", details.Vertices[0].ID, "WORKER", workers.TaskManagers[0].ID), nil
}
