// Package connector has the interfaces of sources and sinks. With an implementation of them, a job reads from and writes to
// systems that package dataflow does not know: dataflow.Read takes a Source, and dataflow.Write a Sink. The text files of
// dataflow.ReadText and dataflow.WriteText are such implementations, too.
//
// The plan function makes a Source or a Sink. It runs in the driver, and again in each process that works on the job. So a
// value holds only what the plan function puts into it, such as addresses. It must not keep what one process finds out: a
// split carries that to the readers, and a committable carries it to the commit. The methods of one value are called by many
// goroutines at once. If the value has a method String, the planner compares the texts of both plans that it makes, as it does
// with everything else that must depend only on the arguments.
//
// Errors of a Source or a Sink should name the object, such as a table. The attempt of the task fails with them, as a
// dataflow.OperatorError with operator and subtask. The restart strategy decides whether another one begins. Permanent marks an error
// that would come again.
//
// Package connectortest tests implementations. The package has no goroutines. Of Bobbin it imports filesystem, jobgraph and
// operator.
package connector

import (
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Planning is what a Source or a Sink gets in the planner's process, before the job is submitted.
type Planning struct {
	FileSystem  filesystem.FileSystem // of the job's input and output
	Parallelism int                   // the number of subtasks that will read or write
	// Found adds to the number of inputs that were found so far, such as files. A command shows it if Enumerate takes long.
	// Any goroutine may call it. It is not nil.
	Found func(more int)
}

// Environment describes one attempt of a subtask to its reader, its writer or its commit.
type Environment struct {
	// Job is the job's id, unique among all jobs.
	Job string
	// Epoch is the term of the job's master. If a master is lost, the next one has a greater epoch.
	Epoch int
	// Attempt is the name of this execution of the subtask. It is unique in the job, in all epochs, and may be used in a path.
	Attempt string
	// Index is the subtask's number, 0 ≤ Index < Parallelism. Those of a commit are 0 and 1.
	Index, Parallelism int
	// FileSystem is that of the job's input and output.
	FileSystem filesystem.FileSystem
	// LocalDirs are directories for temporary files, one on each disk of the worker; at least one.
	LocalDirs []string
	// Metrics are those of the operator.
	Metrics operator.Metrics
	// CachedFile returns the path of the job's cached file of this name; see dataflow.Subtask.
	CachedFile func(name string) (path string, err error)
	// Wake makes the task poll its Reader again, after Poll has found nothing. Any goroutine may call it. It does not wait, and
	// does nothing after the end of the task.
	Wake func()
}

// Split is what one subtask reads at a time. A Source describes it in one of two ways, or in both: Data says in its own
// encoding what to read, with at most MaxSplitData bytes; Base and Parts name ranges of files, from qualified URIs. A job may
// not read files in its output directories, and Bobbin finds that out only from Parts. A split travels to the master and from
// there to a worker, so it carries all that a Reader needs. Size is the number of bytes that a Reader of Data will read from
// the job's file system, or 0: the progress of the job counts only these.
// Hosts are the hosts where reading is cheap, by the names of their DataNodes: a subtask there gets the split first.
type Split = jobgraph.Split

// Part is a range of a file in a Split.
type Part = jobgraph.Part

// Bounds that hold because the job's master keeps all of this in memory. Put more into a file, and name the file.
const (
	// MaxSplitData bounds Split.Data, in bytes.
	MaxSplitData = jobgraph.MaxSplitData
	// MaxCommittable bounds a committable, in bytes, and MaxCommittables those of all subtasks of a sink together. With more than
	// 2,048 subtasks, each one has an equal part of MaxCommittables: MaxCommittables / Environment.Parallelism, at least 64.
	MaxCommittable  = jobgraph.MaxCommittable
	MaxCommittables = jobgraph.MaxCommittables
)

// ErrCommittable says that a committable cannot be stored. The job fails at once.
var ErrCommittable = errors.New("committable cannot be stored: it must be UTF-8 and short; put the data into a file, and name the file")

// Permanent marks an error that every attempt would meet, such as a table that does not exist. The job fails with it at once.
// The text stays, and errors.Is finds err in the result.
func Permanent(err error) error { return operator.Permanent(err) }
