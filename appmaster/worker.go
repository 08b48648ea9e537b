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

// workerSpec is the size of each worker of the cluster.
func workerSpec(c config.Config, w memory.Worker) resourcemanager.WorkerResourceSpec {
	return resourcemanager.WorkerResourceSpec{MemoryMB: w.ContainerMB(), VCores: config.WorkerVCores(c), Slots: w.Slots}
}

// workerLauncher makes the launch contexts of TaskExecutors.
type workerLauncher struct {
	outside   Outside
	memory    memory.Worker
	tokens    func() *creds.Credentials // what the worker's tasks need for HDFS
	resources map[string]records.LocalResource
}

func newWorkerLauncher(o Outside, w memory.Worker, shipped []launch.Shipped, tokens func() *creds.Credentials) (*workerLauncher, error) {
	l := &workerLauncher{outside: o, memory: w, tokens: tokens, resources: make(map[string]records.LocalResource)}
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
	return l, launch.Localize(l.resources, shipped)
}

// launch makes the launch context of one worker. It may be called from any goroutine.
func (l *workerLauncher) launch(id records.ContainerID, node records.NodeID, spec resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
	secrets := make(map[string][]byte)
	if l.outside.Workers.Identify != nil {
		secret, err := l.outside.Workers.Identify(ids.ResourceID(id.String()))
		if err != nil {
			return records.ContainerLaunchContext{}, err
		}
		secrets[launch.SecretCredentials] = secret
	}
	worker := launch.TaskExecutor{
		Application: id.Attempt.Application.String(),
		AMAddress:   l.outside.Workers.Address,
		Host:        node.Host,
		Memory:      l.memory, VCores: spec.VCores,
		User: l.outside.Launch.User, HadoopConf: l.outside.Launch.HadoopConf,
		Config: l.outside.forOthers().Set(),
	}
	if l.outside.hasProgram() {
		worker.Programs = map[string]string{l.outside.Launch.ProgramRef.SHA256: launch.ProgramLink}
	}
	encoded, err := launch.Encode(worker)
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	environment := map[string]string{
		"HADOOP_USER_NAME": l.outside.Launch.User,
		"GOMAXPROCS":       strconv.Itoa(max(2, spec.VCores)),
		"GOMEMLIMIT":       memory.GoLimit(l.memory.Framework),
	}
	maps.Copy(environment, l.outside.Config.Under(config.ContainerWorkerEnv))
	environment[launch.Variable] = encoded
	held := creds.Credentials{Tokens: l.tokens().Tokens, Secrets: secrets}
	return records.ContainerLaunchContext{
		LocalResources: l.resources,
		Environment:    environment,
		Commands:       []string{launch.Command("taskexecutor", l.outside.Launch.BobbinSHA256, "taskmanager")},
		Tokens:         held.Marshal(),
		ACLs:           launch.ACLs(l.outside.Config),
	}, nil
}
