package msg

import "errors"

// Answers of a role to a question about a job; REST turns them into its status
// codes.
var (
	// ErrJobNotFound says that the cluster never had this job.
	ErrJobNotFound = errors.New("job not found")
	// ErrJobExists says that a job of this id runs or has run.
	ErrJobExists = errors.New("job exists already")
	// ErrTooManyJobs says that as many jobs have not ended as may.
	ErrTooManyJobs = errors.New("too many jobs")
	// ErrNoMemory says that the jobs that there are leave no memory for another.
	ErrNoMemory = errors.New("not enough memory in the ApplicationMaster")
	// ErrJobTooLarge says that a job needs more memory than the ApplicationMaster has for
	// all its jobs.
	ErrJobTooLarge = errors.New("job is too large for the ApplicationMaster's memory")
	// ErrEnding says that the cluster takes no jobs any more.
	ErrEnding = errors.New("cluster is ending")
	// ErrJobEnded says that the job is past what was asked of it.
	ErrJobEnded = errors.New("job has ended")
	// ErrJobWithdrawn says that the job was cancelled before it came: it never was.
	ErrJobWithdrawn = errors.New("job was cancelled before it came")
	// ErrProgramNotFound says that the cluster does not have this program.
	ErrProgramNotFound = errors.New("program not found")
	// ErrProgramInUse says that a job of this program runs.
	ErrProgramInUse = errors.New("program is in use")
	// ErrTooManyPrograms says that jobs of as many programs run as may.
	ErrTooManyPrograms = errors.New("too many programs")
	// ErrBadProgram says that what was sent is no program that can be run, or that it
	// cannot plan a job.
	ErrBadProgram = errors.New("bad program")
	// ErrDriverNotFound says that no program of this id runs beside the master.
	ErrDriverNotFound = errors.New("no such program runs")
	// ErrDriverEnded says that a program was ended before it executed its job.
	ErrDriverEnded = errors.New("program was ended")
	// ErrResultNotFound says that the job collects no result of this name.
	ErrResultNotFound = errors.New("result not found")
	// ErrNotReady says that the answer is not there yet, but will be soon.
	ErrNotReady = errors.New("not ready")
	// ErrResultGone says that the page was read before, and the pages behind it have
	// taken its place, or that no client was there to read it for minutes.
	ErrResultGone = errors.New("result page is not held any more")
)
