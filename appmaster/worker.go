package appmaster

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// workerSpec is the size of each worker of the cluster.
func workerSpec(c config.Config) resourcemanager.WorkerResourceSpec {
	return resourcemanager.WorkerResourceSpec{
		MemoryMB: c.Memory(config.TaskManagerProcessSize).Megabytes(), VCores: launch.WorkerVCores(c), Slots: c.Int(config.TaskSlots),
	}
}

// workerLauncher makes the launch contexts of TaskExecutors.
type workerLauncher struct {
	env       environment
	authority *pki.Authority
	address   string                    // of the role RPC
	tokens    func() *creds.Credentials // what the worker's tasks need for HDFS
	resources map[string]records.LocalResource
}

// hasProgram reports whether all jobs of the cluster are of one program. Workers then localize that
// program. A session's workers fetch the programs of their jobs.
func (env environment) hasProgram() bool { return env.launch.Mode != launch.Session }

func newWorkerLauncher(env environment, shipped []launch.Shipped, authority *pki.Authority, address string, tokens func() *creds.Credentials) (*workerLauncher, error) {
	l := &workerLauncher{
		env: env, authority: authority, address: address, tokens: tokens,
		resources: make(map[string]records.LocalResource),
	}
	localized := map[string]launch.Resource{launch.BobbinLink: env.launch.Bobbin}
	if env.hasProgram() {
		localized[launch.ProgramLink] = env.launch.Program
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
	credentials, err := l.authority.IssueTaskExecutor(ids.ResourceID(id.String()), time.Now())
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	secret, err := credentials.PEM()
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	worker := launch.TaskExecutor{
		Application: id.Attempt.Application.String(),
		AMAddress:   l.address,
		Host:        node.Host,
		MemoryMB:    spec.MemoryMB, VCores: spec.VCores, Slots: spec.Slots,
		User: l.env.launch.User, HadoopConf: l.env.launch.HadoopConf,
		Config: l.env.forOthers().Set(),
	}
	if l.env.hasProgram() {
		worker.Programs = map[string]string{l.env.launch.ProgramRef.SHA256: launch.ProgramLink}
	}
	encoded, err := launch.Encode(worker)
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	environment := map[string]string{
		"HADOOP_USER_NAME": l.env.launch.User,
		"GOMAXPROCS":       strconv.Itoa(max(2, spec.VCores)),
		"GOMEMLIMIT":       strconv.Itoa(memory.TaskExecutorLimit) + "MiB",
	}
	maps.Copy(environment, l.env.config.Under(config.ContainerWorkerEnv))
	environment[launch.Variable] = encoded
	held := creds.Credentials{Tokens: l.tokens().Tokens, Secrets: map[string][]byte{launch.SecretCredentials: secret}}
	return records.ContainerLaunchContext{
		LocalResources: l.resources,
		Environment:    environment,
		Commands:       []string{launch.Command("taskexecutor", l.env.launch.BobbinSHA256, "taskmanager")},
		Tokens:         held.Marshal(),
		ACLs:           launch.ACLs(l.env.config),
	}, nil
}
