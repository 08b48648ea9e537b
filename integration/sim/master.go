package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// master is the process of an ApplicationMaster: an attempt of an application.
type master struct {
	w       *World
	attempt records.ApplicationAttemptID
	node    *node
	// container is the master's. The master is the uber.Machine of this container.
	container records.ContainerID
	process   *engine.Process
	ctx       context.Context //nolint:containedctx // what its fibers run under
	mux       *rolerpc.Mux    // nil before its start
	demand    *demand         // nil before its start
	leads     bool            // it has taken over, and serves
	desk      *appmaster.Desk // while it serves clients
	serving   context.Context //nolint:containedctx // of its front
	begun     time.Duration
	exit      records.ExitStatus
	fault     error
	ended     time.Time // zero: it runs
	retryBy   time.Time // when it tries again to get new tokens, at the latest
	// tokensLost says that an answer to its registration is lost, with the NM tokens of earlier workers' nodes.
	tokensLost bool
	broken     *node // the first node on which a task host did not start; nil: none
}

// failedAt notes that a task host of the master's jobs has not started on a node, and reports whether
// another one has failed on another node. Bobbin counts less: the nodes of one job, for 10 min.
func (m *master) failedAt(n *node) bool {
	if m.broken == nil {
		m.broken = n
	}
	return m.broken != n
}

func (m *master) kill() { m.process.Kill() }

func (m *master) silence() {
	m.w.silent[m.process] = true
	for _, k := range m.besides() {
		k.silence()
	}
}

// address is where workers find the master.
func (m *master) address() string { return m.attempt.String() }

// port is the address in the form of a host and a port.
func (m *master) port() string { return m.address() + ":6123" }

// election is how the master becomes the leader of its application.
func (m *master) election(files *dfsmodel.FileSystem, d launch.AppMaster) ha.Election {
	epoch := ids.Epoch(m.attempt.Attempt)
	if d.HighAvailability == "" {
		return appmaster.Unprotected(files, d.StagingDir, epoch)
	}
	return ha.NewDirectory(ha.Options{
		Files: files, Dir: d.HighAvailability, Epoch: epoch, Names: ids.Source{Reader: reader{m.w.stream("names of " + m.address())}},
		Logger: m.w.logger.WithField("process", m.address()),
	})
}

// masterAt returns the master with this address or port. The address is also the name of its process; nil: there is none.
func (w *World) masterAt(address string) *master {
	address, _, _ = strings.Cut(address, ":")
	if i := slices.IndexFunc(w.masters, func(m *master) bool { return m.address() == address }); i >= 0 {
		return w.masters[i]
	}
	return nil
}

// startMaster starts an ApplicationMaster in a container of a node.
func (w *World) startMaster(n *node, id records.ContainerID, l records.ContainerLaunchContext, exited func(records.ExitStatus, string)) *master {
	if slices.ContainsFunc(w.runningMasters(), func(m *master) bool { return m.attempt.Application == id.Attempt.Application }) {
		w.facts[Beside]++
	}
	m := &master{w: w, attempt: id.Attempt, node: n, container: id, begun: w.since(), exit: records.ExitForceKilled}
	w.masters = append(w.masters, m)
	w.facts[Masters]++
	m.process = w.engine.Start(m.address(), func(ctx context.Context) {
		m.ctx = ctx
		if m.fault = m.run(yarnrpc.WithClock(ctx, clock{m.process}), l); m.fault == nil {
			m.exit = records.ExitSuccess
		} else {
			m.exit = 1
			w.logger.WithField("process", m.address()).WithError(m.fault).Warn("master ends")
		}
		w.watch.ends(m)
	}, func() {
		m.ended = w.engine.Now()
		for _, p := range w.planners { // the NodeManager kills the process group
			if p.master == m {
				p.process.Kill()
			}
		}
		for _, k := range m.besides() {
			k.process.Kill()
			k.killHosts()
		}
		w.ended(m.process)
		exited(m.exit, fmt.Sprint(m.fault))
	})
	return m
}

func (m *master) run(ctx context.Context, l records.ContainerLaunchContext) error {
	w := m.w
	description, err := launch.Decode[launch.AppMaster](l.Environment[launch.Variable])
	if err != nil {
		return err
	}
	credentials, err := creds.Parse(l.Tokens)
	if err != nil {
		return err
	}
	logger := w.logger.WithField("process", m.address())
	access, tokens := m.access(description.Security, credentials)
	files := w.hdfs.openAs(m.process, access)
	election := m.election(files, description)
	made, err := appmaster.New(appmaster.Outside{
		Launch: description, Attempt: m.attempt, Config: w.config, Files: files, Tokens: tokens, Election: election,
		Access: func() launch.Access {
			return launch.Access{Attempt: m.attempt.Attempt, Application: m.attempt.Application.String()}
		},
		Workers: appmaster.Workers{Address: m.port(), Provider: func(s appmaster.Supply) (resourcemanager.WorkerProvider, error) {
			calls := rpc{y: w.yarn, process: m.process, node: m.node, jitter: w.stream("calls of " + m.address())}
			provider, err := yarnworkers.New(yarnworkers.Config{
				ResourceManager: amrm.New(amrm.Options{
					Addresses: []string{"resourcemanager:8030"}, Attempt: m.attempt, Token: credentials.ByKind(creds.KindAMRM),
					RPC: yarnrpc.Options{Connect: calls.connect},
				}),
				NodeManagers: nodeManagers{nmclient.New(nmclient.Options{RPC: yarnrpc.Options{Connect: calls.connect}}), m},
				Registration: yarnworkers.RegistrationAt(m.node.nm.ID().Host, 8081),
				Attempt:      m.attempt, Registered: s.Registered, Confirm: s.Confirm, KeepPrevious: description.HighAvailability != "",
				Launch: s.Launch, Progress: s.Progress, Largest: s.Largest,
				Heartbeat:       w.config.Duration(config.YarnHeartbeatInterval),
				RequestInterval: w.config.Duration(config.YarnContainerRequestInterval),
			}, logger)
			if err != nil {
				return nil, err
			}
			s.Nodes(provider.KnowNodes)
			m.demand = newDemand(provider, m)
			return m.demand, nil
		}, Container: m.container, Host: m.node.nm.ID().Host, Beside: m},
		Front:    func(d appmaster.Desk) appmaster.Front { return front{m, d} },
		Programs: m.programs(description.Mode),
		Entropy:  ids.Source{Reader: reader{w.stream("ids of " + m.address())}},
	}, logger)
	if err != nil {
		return err
	}
	m.mux = made.Mux()
	_, err = made.Run(ctx)
	return err
}
