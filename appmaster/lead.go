package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/archive"
	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// led is what a Master has once it leads.
type led struct {
	store     ha.Store
	component *Component
	archive   *archive.Archive // nil: jobs are not archived
	mode      mode
	drivers   *userdriver.Drivers // of an application or a session; otherwise nil
	roles     RoleServer
	front     Front
}

// lead makes the attempt the leader, when YARN knows it and the tokens for HDFS are ready. Before YARN knows it, an outage of
// HDFS could use up one attempt after the other: now the attempt waits, and YARN gets its heartbeats. If an earlier attempt
// has stored how the application ends, that is the answer.
func (m *Master) lead(ctx context.Context) (ha.Term, error) {
	if sched.First(ctx, m.registered) < 0 {
		return ha.Term{}, context.Cause(ctx)
	}
	m.begun.reached(ctx, func(b *begun) *time.Time { return &b.registered })
	// Workers and programs that start with expired tokens are useless. They start only after this.
	if err := m.tokens.Ready(ctx); err != nil {
		return ha.Term{}, err
	}
	term, err := m.outside.Election.Lead(ctx)
	if err != nil {
		return term, fmt.Errorf("lead %s as attempt %d: %w", m.outside.Attempt.Application, m.outside.Attempt.Attempt, err)
	}
	m.last = term.Last
	m.begun.reached(ctx, func(b *begun) *time.Time { return &b.leads })
	return term, nil
}

// takeOver reads what the client and the last leader have left, makes the roles of it, and publishes the address. Then
// everything can be served.
func (m *Master) takeOver(ctx context.Context, store ha.Store, closeLobby func()) (*led, error) {
	o := m.outside
	var staged staged
	var kept stores
	var recovered dispatcher.Recovered
	err := errors.Join(
		patiently(ctx, m.logger, "read the staged file", func() (err error) {
			staged, err = readStaged(ctx, o.Files, o.Launch, m.shares)
			return err
		}),
		m.install(ctx, store),
	)
	if err == nil {
		err = patiently(ctx, m.logger, "recover programs", func() (err error) {
			kept, err = openStores(ctx, o, store)
			return err
		})
	}
	if err == nil {
		recovered, err = dispatcher.ReadStore(ctx, store)
	}
	if err != nil {
		return nil, err
	}
	if err := m.launcher.ship(staged.Shipped); err != nil {
		return nil, err
	}
	l, err := m.make(store, staged, kept, m.newArchive(ctx))
	if err != nil {
		return nil, err
	}
	if err := l.component.Recover(ctx, recovered); err != nil {
		return nil, err
	}
	if a, is := l.mode.(*application); is {
		a.takeOver(recovered)
	}
	if m.nodesKnown != nil {
		m.nodesKnown(ctx, staged.nodeReports())
	}
	m.led.Store(l)
	access, err := json.Marshal(o.Access())
	if err != nil {
		return nil, fmt.Errorf("announce the address of REST: %w", err)
	}
	closeLobby() // its certificate is not the one that the owner expects from now on; that of the next one is
	defer m.openLobby(ctx)()
	return l, patiently(ctx, m.logger, "announce the address of REST", func() error {
		return store.Publish(ctx, o.Workers.Address, access)
	})
}

// install takes the keys into use by which workers and the owner know the application. The first leader makes them.
func (m *Master) install(ctx context.Context, store ha.Store) error {
	if m.outside.Keys == nil {
		return nil
	}
	pem, err := store.Authority(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if pem, err = m.outside.Keys.Make(); err == nil {
			err = store.SetAuthority(ctx, pem)
		}
	}
	if err != nil {
		return fmt.Errorf("get the application's certificate authority: %w", err)
	}
	return m.outside.Keys.Install(pem)
}

// make makes the roles, and what serves them.
func (m *Master) make(store ha.Store, s staged, kept stores, a *archive.Archive) (*led, error) {
	o, logger, settling := m.outside, m.logger, newSettling()
	cluster := m.describeCluster()
	if o.Launch.HighAvailability != "" { // otherwise the memory of this process would keep everything twice
		cluster.Store = store
	}
	if kept.programStore != nil {
		cluster.JobRecovered = kept.recover
		cluster.JobEnded = func(job dispatcher.Submission) {
			kept.release(job)
			settling.jobEnded()
		}
	}
	cluster.Archive = a
	l := &led{store: store, archive: a}
	var err error
	if l.component, err = connect(cluster, m.workers, m.mux, logger); err != nil {
		return nil, err
	}
	jobs := l.component.Dispatcher
	measured := measured{
		jobs: jobs.Unfinished, count: jobs.Running, details: jobs.JobDetails, subtasks: jobs.VertexSubtasks, workers: m.workers.Status, worker: m.workers.TaskExecutor, host: o.Workers.Host,
	}
	desk := Desk{
		Processes: processes{m.workers, o.Self},
		Gateway:   gateway{l.component.Dispatcher, m.workers, m},
		Metrics: rest.Metrics{
			Master: metrics.Join(measured.ofWorkers, measured.ofJobs), Jobs: measured.eachJob, Workers: measured.eachWorker, Worker: measured.oneWorker, Together: measured.together, Tasks: measured.eachTask, Vertex: measured.ofVertex, Coordinator: measured.ofCoordinator,
			Scope: masterScope(o.Workers.Host),
		},
		Room: budget.NewRoom(m.shares.Requests, o.Config), AnswersMemory: m.shares.Answers,
	}
	switch o.Launch.Mode {
	case launch.PerJob: // the program has planned on the client's machine
		l.mode = &perJob{l.component, o, s}
	case launch.Application:
		limits := userdriver.Limits{Job: int(m.shares.JobText)} // only this program submits jobs
		a := newApplication(l.component, o, s, describePrograms(o, m.shares, limits, m.tokens), logger)
		l.mode, l.drivers = a, a.drivers
	case launch.Session:
		session := newSession(l.component, kept, settling, o.FreeMemory, logger)
		if o.Programs != nil {
			limits := userdriver.Limits{Job: desk.Room.Largest(), Hold: desk.Room.Hold} // jobs of programs share the room with requests
			session.runPrograms(describePrograms(o, m.shares, limits, m.tokens), o.Programs.WorkDir, m.shares.Programs, logger)
		}
		l.mode, l.drivers, desk.Session = session, session.drivers, session
	}
	l.roles = o.roleServer(m.mux)
	l.front = o.front(desk)
	return l, nil
}
