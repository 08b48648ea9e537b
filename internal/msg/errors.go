package msg

import "errors"

// Answers of a role to a question about a job; REST turns them into its status
// codes.
var (
	// ErrJobNotFound says that the cluster never had this job.
	ErrJobNotFound = errors.New("job not found")
	// ErrVertexNotFound says that the job does not have this vertex.
	ErrVertexNotFound = errors.New("vertex not found")
	// ErrSubtasksGone says that a job which has ended had too many subtasks to keep them.
	ErrSubtasksGone = errors.New("subtasks are not kept: the job had too many of them, and has ended")
	// ErrJobExists says that a job of this id runs or has run.
	ErrJobExists = errors.New("job exists already")
	// ErrDifferentJob says that the cluster has another job under this id.
	ErrDifferentJob = errors.New("another job has this id")
	// ErrNotPrepared says that the cluster does not have this job, and cannot run it from a graph that is not prepared.
	ErrNotPrepared = errors.New("job is not prepared")
	// ErrTooManyJobs says that the cluster has reached its limit of jobs that have not
	// ended.
	ErrTooManyJobs = errors.New("too many jobs")
	// ErrNoMemory says that the present jobs leave no memory for another one.
	ErrNoMemory = errors.New("not enough memory in the ApplicationMaster")
	// ErrJobTooLarge says that a job needs more memory than the ApplicationMaster has for
	// all its jobs.
	ErrJobTooLarge = errors.New("job is too large for the ApplicationMaster's memory")
	// ErrEnding says that the cluster no longer takes jobs.
	ErrEnding = errors.New("cluster is ending")
	// ErrJobEnded says that the job has ended and the request came too late.
	ErrJobEnded = errors.New("job has ended")
	// ErrJobWithdrawn says that the job was cancelled before the cluster received it. The
	// job never started.
	ErrJobWithdrawn = errors.New("job was cancelled before the cluster received it")
	// ErrProgramNotFound says that the cluster does not have this program.
	ErrProgramNotFound = errors.New("program not found")
	// ErrProgramInUse says that a job of this program runs.
	ErrProgramInUse = errors.New("program is in use")
	// ErrTooManyPrograms says that the cluster has reached its limit of programs with
	// running jobs.
	ErrTooManyPrograms = errors.New("too many programs")
	// ErrBadProgram says that a file is no program that can run, or that the program
	// cannot plan a job.
	ErrBadProgram = errors.New("bad program")
	// ErrFileNotFound says that the cluster does not have this cached file.
	ErrFileNotFound = errors.New("cached file not found")
	// ErrFileInUse says that a job with this cached file runs.
	ErrFileInUse = errors.New("cached file is in use")
	// ErrTooManyFiles says that the cluster has reached its limit of cached files of running
	// jobs.
	ErrTooManyFiles = errors.New("too many cached files")
	// ErrBadFile says that a file is not the one with the expected hash.
	ErrBadFile = errors.New("bad file")
	// ErrDriverNotFound says that no program with this id runs beside the master.
	ErrDriverNotFound = errors.New("no such program runs")
	// ErrDriverEnded says that a program was ended before it executed its job.
	ErrDriverEnded = errors.New("program was ended")
	// ErrResultNotFound says that the job collects no result of this name.
	ErrResultNotFound = errors.New("result not found")
	// ErrNotReady says that the answer is not available yet, but will be soon.
	ErrNotReady = errors.New("not ready")
	// ErrResultGone says that the page of a result is no longer held: a client has read
	// it and later pages, or no client has read it for minutes.
	ErrResultGone = errors.New("result page is not held any more")
)
