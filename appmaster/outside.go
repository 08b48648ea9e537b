package appmaster

import (
	"context"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/uber"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Outside is all that a Master needs from outside: what it is to do, and everything by which it reaches
// other processes, the disk and the system. A process makes it of its environment, sockets and clients, and
// the simulation of models.
type Outside struct {
	Launch  launch.AppMaster
	Attempt records.ApplicationAttemptID
	Config  config.Config // what Launch.Config says
	Files   FileSystem
	Tokens  Tokens
	// Election makes this attempt the leader, and gives it what outlives the leader.
	Election ha.Election
	// Keys are those by which workers and the owner know the application. nil: they need none.
	Keys Keys
	// Access tells the owner how to reach Front. It is called after Keys.Install.
	Access func() launch.Access
	// Workers gives the cluster its workers.
	Workers Workers
	// Roles makes the server that passes workers' streams to the roles, once the attempt leads. nil: something else
	// passes them to the Master's Mux.
	Roles func(*rolerpc.Mux) RoleServer
	// History lists the attempts of the application as YARN knows them, the oldest first. nil: nobody can ask YARN, and the
	// Master lists those that it knows from the Election.
	History func(context.Context) ([]msg.AttemptDetails, error)
	// About is what the process knows of its application.
	About About
	// Self answers questions about the process: its logs, goroutines and profiles. nil: it is no process of its own.
	Self func(context.Context, msg.Inquiry) (msg.InquiryAnswer, error)
	// Lobby tells clients to wait until the attempt leads. It serves twice: once until the application's certificate authority is
	// known, and once with a certificate of it. nil: nothing does.
	Lobby Front
	// Front makes what answers clients, once the attempt leads. nil: nothing does.
	Front func(Desk) Front
	// Programs is where users' programs run. nil: none can run, and a session only takes jobs.
	Programs *Programs
	// FreeMemory returns unused memory to the system some time after a session's jobs have ended. nil: it
	// stays.
	FreeMemory func()
	// Entropy makes ids, fencing tokens and seeds.
	Entropy ids.Source
}

// FileSystem is the part of dfs.FS that a Master uses.
type FileSystem interface {
	staging.FileSystem
	ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error)
	WriteFile(ctx context.Context, uri string, content []byte, mode fs.FileMode) error
	Replicate(ctx context.Context, uri string) error
}

// Tokens are the delegation tokens of the process, and how it gets new ones.
type Tokens struct {
	Own *creds.Credentials // that the process was started with; nil: none
	// Provider obtains new tokens as Principal. nil: the process cannot log in, and keeps its own.
	Provider  tokenmanager.Provider
	Principal string
	// RenewInterval is dfs.namenode.delegation.token.renew-interval.
	RenewInterval time.Duration
}

// Workers is how a Master gets workers.
type Workers struct {
	// Provider makes the provider of workers.
	Provider func(Supply) (resourcemanager.WorkerProvider, error)
	// Address is where workers reach Roles, as host:port.
	Address string
	// Identify makes the credentials with which a worker on a host proves its identity to Roles, as PEM. It may be
	// called from any goroutine. nil: workers need none.
	Identify func(worker ids.ResourceID, host string) ([]byte, error)
	// Viewer is the pki.Digest of the token by which programs view a worker. It is called after Keys.Install. nil: no
	// program can.
	Viewer func() string
	// Container and Host are the process' own, as YARN calls them, and Beside starts workers there. Beside
	// is nil if none can run there.
	Container records.ContainerID
	Host      string
	Beside    uber.Machine
}

// Keys are the certificate authority of the application. All its certificates come from one authority, whichever attempt
// leads: so workers and clients know the next leader.
type Keys interface {
	// Make makes an authority, as PEM with its key.
	Make() ([]byte, error)
	// Install takes an authority into use, once.
	Install(pem []byte) error
}

// Supply is what a provider of workers needs of its Master.
type Supply struct {
	// Registered is to be called when YARN knows the attempt: before that the attempt does not lead. queue is YARN's name of
	// the application's queue; "": it is not known.
	Registered func(queue string)
	// Confirm looks whether a later attempt leads: then the error is ha.ErrSuperseded.
	Confirm func(context.Context) error
	// Nodes names what receives the nodes of the cluster, as the client saw them, once they are known.
	Nodes  func(known func(context.Context, []records.NodeReport))
	Launch yarnworkers.Launch // describes a worker's container
	// Progress is the progress of the application, 0 to 1. It does not block.
	Progress func() float32
	// Largest receives YARN's largest container, and zero once it may have grown. It does not block.
	Largest func(records.Resource)
}

// RoleServer passes workers' streams to a Mux.
type RoleServer interface {
	// Serve serves until Close.
	Serve(ctx context.Context) error
	// Close ends all streams, and waits for them. It may be called before Serve.
	Close()
}

// Front answers clients until ctx ends. It then finishes the answers in progress.
type Front interface {
	Serve(ctx context.Context) error
}

// Desk is what a Front offers to clients.
type Desk struct {
	Gateway rest.Gateway
	Session rest.Session // nil: the cluster accepts no jobs or programs
	// Processes shows the workers, and this process.
	Processes rest.Processes
	// Room and AnswersMemory bound the memory for requests and for answers, as in rest.Config.
	Room          *budget.Room
	AnswersMemory int64
	// Metrics are those of the roles. The Front adds those of its process.
	Metrics rest.Metrics
}

// Programs describes the process beside which users' programs run.
type Programs struct {
	Environment []string // all variables of the process
	WorkDir     string   // of the container; "": the process' working directory
	Machine     userdriver.Machine
}

// Epoch is the epoch in which this attempt leads.
func (o Outside) Epoch() ids.Epoch { return ids.Epoch(o.Attempt.Attempt) }

// forOthers returns the options for workers and users' programs: without the variables that are only for
// the ApplicationMaster.
func (o Outside) forOthers() config.Config { return o.Config.Without(config.ContainerMasterEnv) }

// hasProgram reports whether all jobs of the cluster are of one program. Workers then localize that
// program. A session's workers fetch the programs of their jobs.
func (o Outside) hasProgram() bool { return o.Launch.Mode != launch.Session }

// roleServer makes the server of roles.
func (o Outside) roleServer(mux *rolerpc.Mux) RoleServer {
	if o.Roles == nil {
		return absent{}
	}
	return o.Roles(mux)
}

// front makes the front.
func (o Outside) front(d Desk) Front {
	if o.Front == nil {
		return absent{}
	}
	return o.Front(d)
}

// absent serves nothing.
type absent struct{}

func (absent) Serve(context.Context) error { return nil }

func (absent) Close() {}
