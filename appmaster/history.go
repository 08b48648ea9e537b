package appmaster

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// history asks YARN for the attempts of this application. YARN answers users, so this process must be one: on a cluster
// with Kerberos it needs a keytab. Otherwise the list has only this attempt.
type history struct {
	env  environment
	yarn attemptLister // nil: this process cannot ask

	mu    sync.Mutex // guards what follows
	known []msg.AttemptDetails
}

// attemptLister is what history needs of a yarnclient.Client.
type attemptLister interface {
	Attempts(ctx context.Context, application records.ApplicationID) ([]records.AttemptReport, error)
	Close() error
}

func newHistory(env environment, logger logrus.FieldLogger) (*history, error) {
	h := &history{env: env}
	if env.hadoop.SecurityEnabled() && env.login == nil {
		return h, nil
	}
	o, err := yarnclient.FromConf(env.hadoop, env.launch.User)
	if err != nil {
		return nil, err
	}
	if env.login != nil {
		o.RPC.Login = env.login
	}
	o.Policy = yarnclient.DefaultPolicy()
	o.RPC.Logger = logging.Slog(logger)
	h.yarn = yarnclient.New(o)
	return h, nil
}

// attempts lists the attempts of the application, the oldest first. While this attempt runs, the others have ended: so
// once YARN reports this one as running, the list stays as it is, and attempts asks no more.
func (h *history) attempts(ctx context.Context) ([]msg.AttemptDetails, error) {
	attempt := h.env.container.Attempt
	if h.yarn == nil {
		return []msg.AttemptDetails{{
			Attempt: int(attempt.Attempt), Container: h.env.container.String(), Node: h.env.host, State: string(records.AttemptRunning),
		}}, nil
	}
	h.mu.Lock()
	known := h.known
	h.mu.Unlock()
	if known != nil {
		return known, nil
	}
	reports, err := h.yarn.Attempts(ctx, attempt.Application)
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
	if n := len(list); n > 0 && list[n-1].Attempt == int(attempt.Attempt) && list[n-1].State == string(records.AttemptRunning) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.known = list
	}
	return list, nil
}

// Close closes the connection to YARN.
func (h *history) Close() error {
	if h.yarn == nil {
		return nil
	}
	return h.yarn.Close()
}
