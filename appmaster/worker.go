package appmaster

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// workerSpec is the size of each worker with default slots.
func workerSpec(c config.Config, w memory.Worker) (resourcemanager.WorkerResourceSpec, error) {
	external, _, err := launch.ExternalResources(c)
	return resourcemanager.WorkerResourceSpec{
		MemoryMB: w.ContainerMB(), VCores: config.WorkerVCores(c), Slots: w.Slots, Memory: w, External: external,
	}, err
}

// workerLauncher makes the launch contexts of TaskExecutors.
type workerLauncher struct {
	outside   Outside
	spec      resourcemanager.WorkerResourceSpec // of workers with default slots
	tokens    func() *creds.Credentials          // what the worker's tasks need for HDFS
	resources map[string]records.LocalResource
}

// newWorkerLauncher makes a workerLauncher. Before it launches workers, call ship.
func newWorkerLauncher(o Outside, spec resourcemanager.WorkerResourceSpec, tokens func() *creds.Credentials) (*workerLauncher, error) {
	l := &workerLauncher{outside: o, spec: spec, tokens: tokens, resources: make(map[string]records.LocalResource)}
	localized := map[string]launch.Resource{launch.BobbinLink: o.Launch.Bobbin}
	if o.hasProgram() {
		localized[launch.ProgramLink] = o.Launch.Program
	}
	for link, staged := range localized {
		resource, err := staged.Localize()
		if err != nil {
			return nil, fmt.Errorf("localize %s: %w", link, err)
		}
		l.resources[link] = resource
	}
	return l, nil
}

// ship adds the files that the client ships to all containers. The ResourceManager must not order workers yet.
func (l *workerLauncher) ship(shipped []launch.Shipped) error {
	return launch.Localize(l.resources, shipped)
}

// launch makes the launch context of one worker in a container of its own. It may be called from any
// goroutine.
func (l *workerLauncher) launch(id records.ContainerID, node records.NodeID, spec resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
	of, err := l.describe(ids.ResourceID(id.String()), launch.TaskExecutor{Host: node.Host, HighAvailability: l.outside.Launch.HighAvailability}, spec)
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	return records.ContainerLaunchContext{
		LocalResources: l.resources,
		Environment:    of.Environment,
		Commands:       []string{launch.Command(launch.WorkerRole, l.outside.Launch.BobbinSHA256, launch.WorkerLog)},
		Tokens:         of.Credentials,
		ACLs:           launch.ACLs(l.outside.Config),
	}, nil
}

// beside makes what a worker in this process' container starts with. It may be called from any goroutine.
func (l *workerLauncher) beside(worker ids.ResourceID, host string, spec resourcemanager.WorkerResourceSpec) (launch.WorkerProcess, error) {
	return l.describe(worker, launch.TaskExecutor{Host: host, Uber: worker}, spec)
}

// describe makes the variables and the credentials of a worker from the settings that are its own.
func (l *workerLauncher) describe(id ids.ResourceID, own launch.TaskExecutor, spec resourcemanager.WorkerResourceSpec) (launch.WorkerProcess, error) {
	secrets := make(map[string][]byte)
	if l.outside.Workers.Identify != nil {
		secret, err := l.outside.Workers.Identify(id, own.Host)
		if err != nil {
			return launch.WorkerProcess{}, err
		}
		secrets[launch.SecretCredentials] = secret
	}
	if l.outside.Workers.Viewer != nil {
		own.Viewer = l.outside.Workers.Viewer()
	}
	own.Application = l.outside.Attempt.Application.String()
	own.AMAddress = l.outside.Workers.Address
	own.Memory, own.VCores, own.External, own.Profile = spec.Memory, spec.VCores, spec.External, spec.Profile
	own.User, own.HadoopConf = l.outside.Launch.User, l.outside.Launch.HadoopConf
	own.Config = l.outside.forOthers().Set()
	if l.outside.hasProgram() {
		own.Programs = map[string]string{l.outside.Launch.ProgramRef.SHA256: launch.ProgramLink}
	}
	encoded, err := launch.Encode(own)
	if err != nil {
		return launch.WorkerProcess{}, err
	}
	environment := map[string]string{
		"HADOOP_USER_NAME": l.outside.Launch.User,
		"GOMAXPROCS":       strconv.Itoa(max(2, spec.VCores)),
		"GOMEMLIMIT":       memory.GoLimit(spec.Memory.Framework),
	}
	maps.Copy(environment, l.outside.Config.Under(config.ContainerWorkerEnv))
	environment[launch.Variable] = encoded
	held := creds.Credentials{Tokens: l.tokens().Tokens, Secrets: secrets}
	return launch.WorkerProcess{Environment: environment, Credentials: held.Marshal()}, nil
}
