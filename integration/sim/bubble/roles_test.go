package bubble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// run is the process of a container, for yarnfake.Config.Run.
func (c *cluster) run(ctx context.Context, container yarnfake.Container) records.ExitStatus {
	main, kind := c.worker, workers
	if container.Master {
		main, kind = c.master, masters
	}
	exit := make(chan records.ExitStatus, 1)
	p := c.start(container.ID.String(), func(ctx context.Context, p *process) error {
		err := main(ctx, p, container)
		if err != nil {
			exit <- 1
			return err
		}
		exit <- records.ExitSuccess
		return nil
	})
	c.sort(kind, p)
	select {
	case status := <-exit:
		p.kill() // what is left of its group
		return status
	case <-p.killed:
		return records.ExitForceKilled
	case <-ctx.Done(): // YARN ends the container
		p.kill()
		return records.ExitForceKilled
	}
}

// master is the main function of an ApplicationMaster.
func (c *cluster) master(ctx context.Context, p *process, container yarnfake.Container) (err error) {
	description, err := launch.Decode[launch.AppMaster](container.Launch.Environment[launch.Variable])
	if err != nil {
		return err
	}
	attempt := container.ID.Attempt
	port, err := p.Listen(ctx, "tcp", container.Node.Host+":0")
	if err != nil {
		return err
	}
	defer port.Close()
	authority, err := pki.NewAuthority(attempt.Application.String(), time.Now())
	if err != nil {
		return err
	}
	identity, err := authority.IssueApplicationMaster(time.Now())
	if err != nil {
		return err
	}
	rm, err := amrm.FromConf(c.yarn.Conf())
	if err != nil {
		return err
	}
	nm, err := nmclient.FromConf(c.yarn.Conf())
	if err != nil {
		return err
	}
	rm.Policy = yarnrpc.Policy{} // as in yarnworkers.Connect
	rm.Attempt, rm.Token = attempt, container.Credentials.ByKind(creds.KindAMRM)
	rm.RPC.Dial, nm.RPC.Dial = p.DialYARN, p.DialYARN
	toRM, toNM := amrm.New(rm), nmclient.New(nm)
	defer func() { err = errors.Join(err, toRM.Close(), toNM.Close()) }()
	log := c.log.WithField("process", p.name)
	made, err := appmaster.New(appmaster.Outside{
		Launch: description, Attempt: attempt, Config: c.config, Files: p.files(),
		Election: appmaster.Unprotected(p.files(), description.StagingDir, ids.Epoch(attempt.Attempt)),
		Access:   func() launch.Access { return launch.Access{} },
		Workers: appmaster.Workers{
			Address: port.Addr().String(),
			Identify: func(worker ids.ResourceID, _ string) ([]byte, error) {
				credentials, err := authority.IssueTaskExecutor(worker, time.Now())
				if err != nil {
					return nil, err
				}
				return credentials.PEM()
			},
			Provider: func(s appmaster.Supply) (resourcemanager.WorkerProvider, error) {
				provider, err := yarnworkers.New(yarnworkers.Config{
					Attempt: attempt, Registered: s.Registered,
					ResourceManager: toRM, NodeManagers: toNM,
					Registration: yarnworkers.RegistrationAt(container.Node.Host, 8081),
					Launch:       s.Launch, Progress: s.Progress,
					Heartbeat:       c.config.Duration(config.YarnHeartbeatInterval),
					RequestInterval: c.config.Duration(config.YarnContainerRequestInterval),
				}, log)
				if err == nil {
					s.Nodes(provider.KnowNodes)
				}
				return provider, err
			},
		},
		Roles: func(mux *rolerpc.Mux) appmaster.RoleServer {
			return roles{rolerpc.NewServer(rolerpc.Config{
				TLS: identity.ServerTLS(pki.OnlyRole(pki.RoleTaskExecutor)), Unreachable: config.Unreachable(c.config), Logger: log,
			}, mux), port}
		},
	}, log)
	if err != nil {
		return err
	}
	_, err = made.Run(ctx)
	return err
}

// roles is a RoleServer at a port.
type roles struct {
	*rolerpc.Server
	port net.Listener
}

func (r roles) Serve(context.Context) error { return r.Server.Serve(r.port) }

// worker is the main function of a TaskExecutor.
func (c *cluster) worker(ctx context.Context, p *process, container yarnfake.Container) error {
	description, err := launch.Decode[launch.TaskExecutor](container.Launch.Environment[launch.Variable])
	if err != nil {
		return err
	}
	identity, err := pki.ParsePEM(container.Credentials.Secrets[launch.SecretCredentials])
	if err != nil {
		return err
	}
	log := c.log.WithField("process", p.name)
	dialer := rolerpc.NewDialer(rolerpc.Config{
		TLS: identity.ClientTLS(pki.OnlyRole(pki.RoleApplicationMaster)), Unreachable: config.Unreachable(c.config), Dial: p.Dial, Logger: log,
	})
	defer dialer.Close()
	executor, err := taskexecutor.New(taskexecutor.Config{
		Resource: ids.ResourceID(container.ID.String()), Node: container.Node.Host,
		Slots: description.Memory.Slots, Memory: description.Memory, VCores: description.VCores,
		Address: description.AMAddress, Programs: description.Programs, Options: taskexecutor.OptionsFrom(c.config),
	}, taskexecutor.Environment{
		Roles: dialer, Hosts: hosts{p}, Identity: identity,
		Instructions: msg.StartHost{ListenHost: container.Node.Host, Unreachable: config.Unreachable(c.config)}, Logger: log,
	})
	if err != nil {
		return err
	}
	return executor.Run(ctx)
}

// hosts starts the task hosts of a worker.
type hosts struct{ worker *process }

// Start implements taskexecutor.HostStarter.
func (h hosts) Start(_ context.Context, spec taskexecutor.HostSpec) (taskexecutor.Host, error) {
	c := h.worker.cluster
	near, far := newPair(address(h.worker.name), address(spec.Host), c.delay)
	h.worker.own(near)
	exit := make(chan error, 1)
	child := c.start(h.worker.name+" "+string(spec.Host), func(ctx context.Context, p *process) error {
		p.own(far)
		err := c.host(ctx, p, far)
		exit <- err
		return err
	})
	h.worker.adopt(child)
	c.sort(taskHosts, child)
	return &host{child, near, exit}, nil
}

// host is the main function of a task host.
func (c *cluster) host(ctx context.Context, p *process, parent net.Conn) error {
	return taskhost.Run(ctx, control.New(parent, msg.TaskExecutorToHost), taskhost.Options{
		Program: program{}, Stdout: io.Discard,
		Open: func(msg.StartHost) (taskhost.Surroundings, error) {
			return taskhost.Surroundings{Files: p.files(), CloseFiles: func() error { return nil }, Logger: c.log.WithField("process", p.name)}, nil
		},
		DataPlane: func(ctx context.Context, o exchange.Config) (taskhost.DataPlane, error) {
			o.Listen, o.Dial = p.Listen, p.Dial
			return taskhost.Network(ctx, o)
		},
	})
}

// host is a task host at its TaskExecutor.
type host struct {
	*process
	near net.Conn
	exit chan error
}

func (h *host) Control() control.Channel { return taskexecutor.Controlling(h.near) }
func (h *host) PID() int                 { return 0 }
func (h *host) Kill()                    { h.kill() }

// Wait implements taskexecutor.Host.
func (h *host) Wait() taskexecutor.Exit {
	select {
	case err := <-h.exit:
		return taskexecutor.Exit{How: fmt.Sprint("exit: ", err)}
	case <-h.killed:
		return taskexecutor.Exit{How: "killed"}
	}
}

// program is the user's program in a task host.
type program struct{}

// Compile implements taskhost.Program.
func (program) Compile(job string, args []byte, parallelism int, options map[string]string) (taskhost.Compiled, error) {
	c, err := dataflow.Compile(job, args, dataflow.PlanOptions{Parallelism: parallelism, Config: options})
	if err != nil {
		return taskhost.Compiled{}, err
	}
	return taskhost.Compiled{Graph: c.Graph, Tasks: c.Tasks}, nil
}
