package appmaster

import (
	"context"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// history asks YARN for the attempts of this application. YARN answers users, so this process must be one: on a cluster
// with Kerberos it needs a keytab. Otherwise the list has only this attempt.
type history struct {
	env  environment
	yarn *yarnclient.Client // nil: this process cannot ask
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

// attempts lists the attempts of the application, the oldest first.
func (h *history) attempts(ctx context.Context) ([]msg.AttemptDetails, error) {
	attempt := h.env.container.Attempt
	if h.yarn == nil {
		return []msg.AttemptDetails{{
			Attempt: int(attempt.Attempt), Container: h.env.container.String(), Node: h.env.host, State: string(records.AttemptRunning),
		}}, nil
	}
	reports, err := h.yarn.Attempts(ctx, attempt.Application)
	if err != nil {
		return nil, err
	}
	list := make([]msg.AttemptDetails, len(reports))
	for i, r := range reports {
		list[i] = msg.AttemptDetails{
			Attempt: int(r.ID.Attempt), Container: r.MasterContainer.String(), Node: r.Host, State: string(r.State),
			Started: r.Started, Ended: r.Finished, Diagnostics: r.Diagnostics,
		}
	}
	slices.SortFunc(list, func(a, b msg.AttemptDetails) int { return a.Attempt - b.Attempt })
	return list, nil
}

// Close closes the connection to YARN.
func (h *history) Close() error {
	if h.yarn == nil {
		return nil
	}
	return h.yarn.Close()
}
