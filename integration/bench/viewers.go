package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	viewers    = 10
	viewerRuns = 3
	viewedFor  = 30 * time.Second
	// mostShare is the goal: the part of a core that the viewers cost.
	mostShare = 0.01
)

// pageViewers measures what people who look at the page cost the ApplicationMaster.
func pageViewers(ctx context.Context, r *rig) (t table, err error) {
	t = table{
		title: "Viewers of the page",
		text: fmt.Sprintf("The processor time of a session's ApplicationMaster in %v, from `/proc`, as a share of one core. The session runs a job "+
			"with %d tasks, each in a worker of its own. In turns, nobody looks, and %d viewers look at one of the pages. Each asks "+
			"for the paths of the page at its intervals, over TLS and connections of its own. The goal is for the difference. The "+
			"log and the flame graph come from workers.",
			viewedFor, lingering, viewers),
		head: []string{"page", "to reach", "share of a core", "requests in a second", "more than without viewers"},
	}
	input, err := r.hours(ctx)
	if err != nil {
		return t, err
	}
	b := &lingeringBobbin{bobbin{r, input}}
	_, report, err := r.submit(ctx, b, append(b.session(), "-D", config.RESTFlames.Name()+"=true"))
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
		client, err := newViewer(access)
		if err != nil {
			return v, err
		}
		defer client.CloseIdleConnections()
		for q, asked := range s.questions {
			group.Go(func() error {
				url := "https://" + access.Address + "/v1/" + names.Replace(asked.path)
				count := &answered[n*len(s.questions)+q]
				return polls(looking, asked.every, asked.next(looking, client, url, access, count))
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
