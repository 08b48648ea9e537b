package client

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Deployment is a cluster to start on YARN.
type Deployment struct {
	Mode      launch.Mode
	Name      string // of the application, unless yarn.application.name is set
	Config    config.Config
	Bobbin    Executable        // see Binary
	Program   Executable        // the job's or the application's; a session has none
	Arguments []string          // of an application's program
	Graph     jobgraph.JobGraph // the job of launch.PerJob
	Files     CachedFiles       // of the jobs; a session has none
	// Attached says that a client follows the job and fetches its result, or that an application's program
	// waits for its jobs.
	Attached bool
	// Began is when the command began, for users who ask what takes the time; zero: not known.
	Began time.Time
	// Done is called after each step, from any goroutine.
	Done func(step string)
	// Uploading is called while a file is uploaded, with bytes.
	Uploading func(name string, done, total int64)
}

// plan is a Deployment with its options as typed values. Cluster.plan reads and checks them;
// nothing changes them later.
type plan struct {
	mode            launch.Mode
	bobbin, program Executable
	graph           *jobgraph.JobGraph
	cached          CachedFiles
	done            func(step string)
	uploading       func(name string, done, total int64)

	containers  Containers
	place       launch.WorkerPlace
	workers     []launch.JobWorkers // the job's
	demand      launch.Demand       // the job's, of the nodes' memory
	ceiling     config.WorkerTotals // of all workers
	uber        uber                // as far as the options decide
	home        string              // URI of the directory that holds the user's staging area
	available   bool                // what it accepts outlives its ApplicationMaster
	storage     string              // StorageDir, with high availability
	replication int                 // of staged files; 0: the file system's default
	queue       string              // "": YARN chooses
	ships       manifest
	proof       proof
	site        *sitecert.Certificate // for REST; nil: none
	kept        string                // why a certificate of the options stays on this machine; "": none does
	readers     []string              // other users whose programs can read the key of site
	attempts    Attempts

	master      launch.AppMaster // without staged files and credentials
	environment map[string]string
	acls        map[records.ApplicationAccess]string
	submission  records.SubmissionContext // without id, container and KeepTokens; the size is that of the ApplicationMaster alone
}

// plan reads the options of a deployment, and makes all checks that need no server. No other function reads
// them. Its errors wrap config.ErrInvalid, ErrMasterTooSmall, memory.ErrTooSmall or errFileSystem, are those of
// SiteCertificate, or errors of Hadoop's configuration.
func (c *Cluster) plan(d Deployment) (*plan, error) {
	cfg := d.Config
	p := &plan{
		mode: d.Mode, bobbin: d.Bobbin, program: d.Program, graph: &d.Graph, cached: d.Files, done: d.Done, uploading: d.Uploading,
		replication: max(0, cfg.Int(config.YarnFileReplication)), queue: cfg.String(config.YarnApplicationQueue),
		ships: manifestOf(cfg, d.Bobbin.URI), acls: launch.ACLs(cfg),
	}
	var unplaced, small, err error
	p.place, unplaced = launch.PlaceOf(cfg)
	p.containers, small = ContainersOf(cfg, d.Mode)
	if err = errors.Join(config.Validate(cfg), unplaced, small, CheckHeartbeats(cfg, c.Conf)); err != nil {
		return nil, err
	}
	if p.home, err = c.home(); err != nil {
		return nil, err
	}
	if p.available = config.HighAvailability(cfg); p.available {
		if p.storage, err = StorageDir(c.Files, cfg.String(config.HighAvailabilityStorageDir)); err != nil {
			return nil, err
		}
	}
	hadoop, err := c.Conf.Marshal()
	if err != nil {
		return nil, err
	}
	p.master = launch.AppMaster{
		Mode: d.Mode, User: c.User, BobbinSHA256: d.Bobbin.hash(), Arguments: d.Arguments, Attached: d.Attached, HadoopConf: hadoop,
		// Options for Hadoop have gone into its configuration, which leaves secrets out.
		Config: cfg.Without(config.HadoopOptions, config.YarnOptions).Set(),
	}
	one := launch.WorkerSize{Memory: p.containers.WorkerMemory, VCores: p.containers.Worker.VCores, External: p.place.External}
	p.workers = launch.WorkersOf(cfg, one, &d.Graph)
	p.demand = launch.DemandOf(p.workers, p.containers.MasterMemory, cfg.Duration(config.SlotRequestTimeout))
	p.uber, p.ceiling = uberOf(d, p.place, p.containers), config.MaxWorkers(cfg)
	if p.attempts, err = AttemptsOf(cfg, c.Conf); err != nil {
		return nil, err
	}
	p.proof = proofOf(cfg, p.uses()...)
	p.proof.attempts = p.attempts.Effective()
	p.proof.lasts = d.Mode == launch.Session || cfg.IsSet(config.YarnApplicationAttempts)
	if p.site, p.kept, err = c.siteOf(cfg); err != nil {
		return nil, err
	}
	if p.site != nil && d.Mode == launch.Session {
		p.readers = othersOf(cfg.String(config.YarnModifyACLs), c.User)
	}
	p.environment = masterEnvironment(cfg, p.containers, c.User)
	p.submission = submissionOf(cfg, p.containers.Master, d.Name)
	p.master.Name, p.master.Type = p.submission.Name, p.submission.Type
	return p, nil
}

// limits are what a job's workers must keep if YARN's largest container is known, and otherwise their ceiling.
func (p *plan) limits(largest records.Resource) launch.Limits {
	return launch.Limits{Ceiling: p.ceiling, Largest: largest, Place: p.place}
}

// uses lists the URIs that an application uses on file systems, first that of its staging directory.
func (p *plan) uses() []string {
	uris := []string{p.home}
	if p.storage != "" {
		uris = append(uris, p.storage)
	}
	uris = slices.Concat(uris, p.ships.remote(), p.cached.remote())
	if p.program.URI != "" {
		uris = append(uris, p.program.URI)
	}
	for _, v := range p.graph.Vertices {
		uris = append(uris, v.Outputs...)
		for _, split := range v.Splits {
			if split.Base != "" {
				uris = append(uris, split.Base)
			}
		}
	}
	return uris
}

// masterEnvironment is the environment of the ApplicationMaster's container, without launch.Variable.
func masterEnvironment(c config.Config, asked Containers, user string) map[string]string {
	environment := map[string]string{
		"HADOOP_USER_NAME": user,
		"GOMAXPROCS":       fmt.Sprint(max(2, asked.Master.VCores)),
		"GOMEMLIMIT":       memory.GoLimit(asked.MasterMemory.Heap),
	}
	maps.Copy(environment, c.Under(config.ContainerMasterEnv))
	return environment
}

// applicationType is the type of our applications in YARN.
const applicationType = "Bobbin"

// defaultQueue is the queue of an application that names none, unless YARN has placement rules
// (YarnConfiguration.DEFAULT_QUEUE_NAME).
const defaultQueue = "default"

// submissionOf reads the options that go to YARN with an application. name is the application's name if they
// give none.
func submissionOf(c config.Config, master records.Resource, name string) records.SubmissionContext {
	s := records.SubmissionContext{
		Name:        cmp.Or(c.String(config.YarnApplicationName), name),
		Queue:       cmp.Or(c.String(config.YarnApplicationQueue), defaultQueue),
		Resource:    master,
		MaxAttempts: c.Int(config.YarnApplicationAttempts),
		Type:        cmp.Or(c.String(config.YarnApplicationType), applicationType),
		NodeLabel:   c.String(config.YarnNodeLabel),
		Lifetime:    c.Duration(config.YarnApplicationLifetime),
		Logs: records.LogAggregation{
			RolledInclude: c.String(config.YarnRolledLogsInclude),
			RolledExclude: c.String(config.YarnRolledLogsExclude),
		},
		FailuresValidity: config.AttemptFailuresValidity(c),
	}
	for tag := range strings.SplitSeq(c.String(config.YarnTags), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			s.Tags = append(s.Tags, strings.ToLower(tag))
		}
	}
	if priority := c.Int(config.YarnApplicationPriority); priority >= 0 {
		p := records.Priority(priority)
		s.Priority = &p
	}
	return s
}
