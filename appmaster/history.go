package appmaster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// history asks YARN about this application and its attempts. Make it with newHistory.
type history struct {
	env  environment
	yarn attemptLister

	mu       sync.Mutex // guards what follows
	known    []msg.AttemptDetails
	listing  *listing  // the present question for the attempts; nil: there is none
	unlisted error     // why YARN has not listed the attempts
	listNext time.Time // YARN is not asked for the list before
	reported Report    // without a TrackingURL or Granted it is not the last word
	askNext  time.Time // YARN is not asked for the report before
}

// listing is a question for the attempts. All users who want to know at that time wait for its answer.
type listing struct {
	done chan struct{} // closed when there is an answer, which is in the other fields
	list []msg.AttemptDetails
	err  error
	left bool // the user who has asked does not wait any more, so the error says nothing of YARN
}

// attemptLister is what history needs of a yarnclient.Client.
type attemptLister interface {
	Attempts(ctx context.Context, application records.ApplicationID) ([]records.AttemptReport, error)
	ApplicationReport(ctx context.Context, id records.ApplicationID) (records.ApplicationReport, error)
	Container(ctx context.Context, id records.ContainerID) (records.ContainerReport, error)
	Close() error
}

// newHistory makes a history. YARN answers users, so this process must be one: on a cluster with Kerberos it needs a keytab.
// Without one, the history is nil.
func newHistory(env environment, observe func(yarnrpc.Try), logger logrus.FieldLogger) (*history, error) {
	if env.hadoop.SecurityEnabled() && env.login == nil {
		return nil, nil
	}
	o, err := yarnclient.FromConf(env.hadoop, env.launch.User)
	if err != nil {
		return nil, err
	}
	if env.login != nil {
		o.RPC.Login = env.login
	}
	o.Policy = yarnclient.DefaultPolicy()
	o.RPC.Observe, o.RPC.Logger = observe, logging.Slog(logger)
	return &history{env: env, yarn: yarnclient.New(o)}, nil
}

// report asks YARN about the application and the container of this attempt, both at once, until YARN has told all after the
// registration: that stays. An earlier answer counts until YARN gives a newer one. So the report is of use also with an error,
// which says why it is not whole or not new.
func (h *history) report(ctx context.Context) (Report, error) {
	if known, ask := h.mayAsk(ctx); !ask {
		return known, nil
	}
	ctx, cancel := sched.WithTimeout(ctx, reportTime)
	defer cancel()
	var about records.ApplicationReport
	var container records.ContainerReport
	var unknown, lost error
	var asking sched.Group // YARN may not answer one of them
	asking.Go(ctx, func() { about, unknown = h.yarn.ApplicationReport(ctx, h.env.container.Attempt.Application) })
	asking.Go(ctx, func() { container, lost = h.yarn.Container(ctx, h.env.container) })
	asking.Wait(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if unknown == nil {
		h.reported.Name, h.reported.Queue = about.Name, about.Queue
		if strings.Contains(about.TrackingURL, "://") { // "N/A" before the registration
			h.reported.TrackingURL = about.TrackingURL
		}
	}
	if lost == nil {
		h.reported.Granted = container.Created
	}
	return h.reported, errors.Join(unknown, lost)
}

// mayAsk tells what is known of the application, and whether to ask YARN for more now.
func (h *history) mayAsk(ctx context.Context) (known Report, ask bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := sched.Now(ctx)
	whole := h.reported.TrackingURL != "" && !h.reported.Granted.IsZero()
	if whole || now.Before(h.askNext) {
		return h.reported, false
	}
	h.askNext = now.Add(reportPause)
	return h.reported, true
}

// reportPause is the time between two questions about the application or its attempts, so that viewers do not burden a YARN that cannot answer.
const reportPause = 10 * time.Second

// reportTime is how long a user waits for what YARN tells about the application or about its attempts.
const reportTime = 3 * time.Second

// attempts lists the attempts of the application, the oldest first. While this attempt runs, the others have ended: so
// once YARN reports this one as running, the list stays as it is, and attempts asks no more. An error of YARN's is the answer for
// reportPause.
func (h *history) attempts(ctx context.Context) ([]msg.AttemptDetails, error) {
	for {
		l, mine := h.listed(ctx)
		switch {
		case mine:
			h.list(ctx, l)
			return l.list, l.err
		case sched.First(ctx, l.done) < 0:
			return nil, context.Cause(ctx)
		case !l.left:
			return l.list, l.err
		}
	}
}

// listed is the present answer, or the present question. mine says that the caller has to ask YARN, by list.
func (h *history) listed(ctx context.Context) (l *listing, mine bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.known != nil || sched.Now(ctx).Before(h.listNext):
		l = &listing{done: make(chan struct{}), list: h.known}
		if h.known == nil {
			l.err = h.unlisted
		}
		close(l.done)
		return l, false
	case h.listing != nil:
		return h.listing, false
	}
	h.listing = &listing{done: make(chan struct{})}
	return h.listing, true
}

// list asks YARN for the attempts, and answers the question. If the list stays or YARN cannot answer, that is noted.
func (h *history) list(ctx context.Context, l *listing) {
	l.list, l.err = h.ask(ctx)
	l.left = ctx.Err() != nil
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.err != nil && !l.left {
		h.unlisted, h.listNext = l.err, sched.Now(ctx).Add(reportPause)
	}
	if n, attempt := len(l.list), h.env.container.Attempt; n > 0 && l.list[n-1].Attempt == int(attempt.Attempt) && l.list[n-1].State == string(records.AttemptRunning) {
		h.known = l.list
	}
	h.listing = nil
	close(l.done)
}

func (h *history) ask(ctx context.Context) ([]msg.AttemptDetails, error) {
	asking, cancel := sched.WithTimeout(ctx, reportTime)
	defer cancel()
	reports, err := h.yarn.Attempts(asking, h.env.container.Attempt.Application)
	if err != nil {
		return nil, err
	}
	list := make([]msg.AttemptDetails, len(reports))
	for i, r := range reports {
		list[i] = msg.AttemptDetails{
			Attempt: int(r.ID.Attempt), Container: r.Container(), Node: r.Node(), State: string(r.State),
			Started: r.Started, Ended: r.Finished,
			Diagnostics: strings.Clone(r.Diagnostics[:min(len(r.Diagnostics), rest.MaxDiagnostics)]), // the rest is let go of
		}
	}
	slices.SortFunc(list, func(a, b msg.AttemptDetails) int { return a.Attempt - b.Attempt })
	return list, nil
}

// Close closes the connection to YARN.
func (h *history) Close() error { return h.yarn.Close() }
