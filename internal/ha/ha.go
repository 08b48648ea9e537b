// Package ha keeps what must outlive an ApplicationMaster, and decides which attempt leads.
//
// Leadership is the name of one directory. Everything that must survive lies in <application>/live-<N>, where N is
// the epoch of the leader. The next attempt renames the directory to its own epoch. This one atomic step fences the
// last leader, whose writes fail from then on, and hands everything over. The end is a rename, too: to ended-<N>.
//
//	live-<N>/ca.pem                          the application's certificate authority, with its key
//	live-<N>/am-<N>-<host>-<port>            empty: the leader's address for workers is the name
//	live-<N>/access.json                     how the owner reaches REST
//	live-<N>/refs.d, refs.files              the programs and files of the cache that a session holds (package staging)
//	live-<N>/jobs/<job>/graph                of an accepted job
//	live-<N>/jobs/<job>/submitted            how it was submitted
//	live-<N>/jobs/<job>/cancelled            its end is requested
//	live-<N>/jobs/<job>/commit-<region>      the winners of a region's outputs: only the commit runs again
//	live-<N>/jobs/<job>/committed-<region>   the region has committed: nothing of it runs again
//	live-<N>/result/<job>.<STATE>            a job that has ended
//	live-<N>/stopped                         the end of the application is requested
//	ended-<N>/outcome                        how the application ends
//
// A <host> is percent-encoded. Each file is written under a name that begins with a dot in live-<N> itself, closed and
// renamed. A job's directory is renamed whole: that is its acceptance. Nothing here makes parents, and nothing is
// removed by its name: it is renamed first. So each change of an attempt that was replaced fails, also one that the
// NameNode executes late.
//
// There are two backends: a Directory on a file system, and Memory for clusters that end with their process. Both do
// their work in the goroutine of the caller, and in others that end before the call.
package ha

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

var (
	// ErrSuperseded says that a later attempt leads the application: this process must end with exit code 2, and
	// change nothing.
	ErrSuperseded = errors.New("a later ApplicationMaster leads the application")
	// ErrNothing says that there is nothing to lead or to find: the application has ended, or was never staged.
	ErrNothing = errors.New("nothing is stored of the application")
	// ErrEnded says that the application has ended (Store.End): nothing is stored any more.
	ErrEnded = errors.New("the application has ended")
	// ErrNoCredentials says that the delegation tokens of this process have ended, and that it can get no others
	// (Options.NoLogin). Nothing can be stored any more. Later attempts get the same tokens, so none can take over.
	ErrNoCredentials = errors.New("the delegation tokens for HDFS have ended, and there is no keytab")
	// ErrReplacing says that no leader has published its address since the last one was replaced.
	ErrReplacing = errors.New("the ApplicationMaster is being replaced")
)

// Election decides which attempt leads. Its methods may be called from any goroutine.
type Election interface {
	// Lead makes this attempt the leader, and fences all earlier ones. After a doubtful answer it looks what has
	// happened, and it tries again while storage does not answer, until ctx ends. If an earlier attempt has stored the
	// application's outcome, the Term has it, and nothing may run again. Errors: ErrSuperseded, ErrNothing, and errors of
	// storage that no retry mends (filesystem.Final).
	Lead(ctx context.Context) (Term, error)
	// Confirm looks whether another attempt leads: then the error is ErrSuperseded. Other errors say that it is not known.
	Confirm(ctx context.Context) error
}

// Term is the time in which an attempt leads.
type Term struct {
	Store Store
	// Last is the attempt that has published its address last before this one. Zero if there is none, or with an Outcome.
	Last Leadership
	// Outcome is how the application has to end; nil while it has to go on.
	Outcome *Outcome
	// Left reads the jobs of an application with an Outcome, because they may have left output; otherwise it is nil.
	Left JobReader
}

// Outcome is how an application ends.
type Outcome struct {
	Status      msg.ApplicationStatus
	Diagnostics string
}

// Store is what outlives a leader. Its methods may be called from any goroutine, but the changes of one job come one after
// the other. Each change is stored when the method returns nil. After a doubtful answer of storage, and while storage does
// not answer, methods look and try again until ctx ends. All errors are ErrSuperseded, ErrEnded after End, ErrNothing if
// everything was removed, ErrNoCredentials, the cause of ctx, or errors that no retry mends. Among
// them is a file of a job whose blocks no DataNode has had for 10 min. Something that is not there gives
// fs.ErrNotExist. The id of a job must have only letters, digits, '-' and '_'. A content has at most 256 MiB.
type Store interface {
	JobStore
	ResultStore
	// Authority is the PEM of the certificate authority with its key. The first leader stores one: fs.ErrNotExist.
	Authority(ctx context.Context) ([]byte, error)
	// SetAuthority stores the authority, once. It may be repeated. The error is fs.ErrExist if another one is stored.
	SetAuthority(ctx context.Context, pem []byte) error
	// Publish tells workers the leader's address, host:port, and the owner how to reach REST. It may be repeated.
	Publish(ctx context.Context, address string, access []byte) error
	// Dir is the directory of the term for package staging; "" if the Store has none.
	Dir() string
	// Stop stores that the application's end is requested: the next leader must end it. It may be repeated.
	Stop(ctx context.Context) error
	// Stopped reports whether the application's end is requested.
	Stopped(ctx context.Context) (bool, error)
	// End stores how the application ends. From then on nothing runs again, and the Store changes nothing more. It may be
	// repeated; the first outcome stays.
	End(ctx context.Context, o Outcome) error
	// Remove removes everything, once YARN has recorded the end.
	Remove(ctx context.Context) error
}

// JobReader reads accepted jobs.
type JobReader interface {
	// Jobs lists the accepted jobs, in the order of their names, without reading them.
	Jobs(ctx context.Context) ([]JobEntry, error)
	// Job reads a job.
	Job(ctx context.Context, job ids.JobID) (Job, error)
}

// JobStore keeps accepted jobs.
type JobStore interface {
	JobReader
	// AddJob accepts a job. It is no error if the job is there already.
	AddJob(ctx context.Context, job ids.JobID, j Job) error
	// Cancel stores that the end of a job is requested. It may be repeated.
	Cancel(ctx context.Context, job ids.JobID) error
	// AddCommit stores the commit record of a region. It may be repeated with the same record. The error is fs.ErrExist if
	// another one is stored.
	AddCommit(ctx context.Context, job ids.JobID, region int, record []byte) error
	// FinishCommit stores that a region with a commit record has committed. It may be repeated.
	FinishCommit(ctx context.Context, job ids.JobID, region int) error
	// Commits reads the commits of a job, by region.
	Commits(ctx context.Context, job ids.JobID) (map[int]Commit, error)
	// RemoveJob removes a job that has a result, or that was not wanted. It may be repeated.
	RemoveJob(ctx context.Context, job ids.JobID) error
}

// JobEntry is an accepted job.
type JobEntry struct {
	ID        ids.JobID
	Cancelled bool // its end is requested
	Committed bool // it has commit records
}

// Commit is what is stored of a region that writes output.
type Commit struct {
	Record   []byte // what it commits
	Finished bool   // it has committed
}

// Job is what is stored of an accepted job.
type Job struct {
	Graph     []byte // the encoded jobgraph.JobGraph
	Submitted []byte // how it was submitted, as its Dispatcher encodes it
}

// ResultStore keeps ended jobs.
type ResultStore interface {
	// Results lists the ended jobs, in the order of their names, without reading them.
	Results(ctx context.Context) ([]ResultEntry, error)
	// AddResult stores how a job has ended. It may be repeated. If the job has a result already, that one stays.
	AddResult(ctx context.Context, job ids.JobID, status msg.JobStatus, body []byte) error
	// Result reads the body of a result.
	Result(ctx context.Context, job ids.JobID) ([]byte, error)
	// ResultHead reads the first bytes of the body of a result: most of them, or all if there are fewer.
	ResultHead(ctx context.Context, job ids.JobID, most int64) ([]byte, error)
	// RemoveResult forgets a job. It may be repeated.
	RemoveResult(ctx context.Context, job ids.JobID) error
}

// ResultEntry is an ended job.
type ResultEntry struct {
	ID     ids.JobID
	Status msg.JobStatus
}

// Retrieval finds the leader. Its methods may be called from any goroutine.
type Retrieval interface {
	// Leader is the leader that has published its address. Errors: ErrReplacing, ErrNothing.
	Leader(ctx context.Context) (Leader, error)
}

// Leadership tells of an attempt that has led.
type Leadership struct {
	Leader
	Since time.Time // when it published its address, by the clock of the storage; zero: not known
}

// Leader is where workers reach a leader.
type Leader struct {
	Epoch   ids.Epoch
	Address string // host:port
}
