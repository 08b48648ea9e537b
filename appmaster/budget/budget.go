// Package budget divides the memory of the ApplicationMaster's container, estimates what jobs take of
// it, and admits what fits.
//
//	container: jobmanager.memory.process.size
//	├─ this process' heap, Go's soft limit: 80 %, or 50 % where users' programs run beside it
//	│   ├─ 40 % jobs: those that run, what they collect, and what is kept of those that have ended
//	│   ├─ 25 % what is being read: requests, and jobs of users' programs, with what is decoded from them
//	│   ├─  5 % answers that are being written
//	│   └─ the rest is for what does not grow: the program itself with its clients of YARN and HDFS,
//	│      some 15 MB; 64 KB for each worker's stream; two views while they are composed, each of which
//	│      takes some four times its answer's length; and garbage, of which Go's collector needs room for
//	│      a third of the heap, or it does nothing but collect
//	├─ users' programs: 25 %, for one in an application and for four in a session
//	└─ program text, stacks, the kernel's share
//
// # Why a text counts by its length
//
// A Room bounds how long a text is, and does not look into it. It sets aside five times as much for what is
// decoded (growth). The figures are those of TestJobsTakeNoMoreThanTheirRoom and TestWhatForgedJobsTake,
// memory that is held for each byte of text; what decoding takes beside that is garbage at once:
//
//	                                               JSON   CBOR
//	10,000 files, one in a split     2.0, 1.6 MB    1.5    1.6
//	10,000 files, 16 in a split      0.7, 0.5 MB    1.1    1.3
//	3,000 vertices, edges, options   0.6, 0.4 MB    2.2    2.7
//	a forged job: a vertex a number, or null        66     120
//
// So all jobs that an encoder of ours writes fit: names alone make an element long. A forged text does not.
// A bound that is safe against it, of 120 in place of five, would leave 0.2 MiB for a job with -jm 512m,
// which is less than a tenth of 10,000 files. A scan of each text before it is decoded would keep out nobody:
// the right to submit a job is the right to run a program (package rest), a program that submits
// jobs runs already, and either can end this process at once, as the same user of the operating system.
//
// Shares, estimates and Jobs are pure. A Room waits, and may be used from any
// goroutine. The package starts no goroutines. It imports no role, and must never.
package budget

import (
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// Parts of the container and of the heap, in percent.
const (
	sharedHeapPart = 50 // of the container, beside users' programs
	programsPart   = 25 // of the container
	jobsPart       = 40 // of the heap
	requestsPart   = 25 // of the heap
	answersPart    = 5  // of the heap
)

const (
	// sessionPrograms bounds the users' programs that a session runs at once; more wait.
	sessionPrograms = 4
	// leastProgramMB is what a program needs to plan at all.
	leastProgramMB = 24
)

// Shares are how an ApplicationMaster's memory is divided.
type Shares struct {
	ContainerMB int
	LimitMB     int // Go's soft limit of this process; 0: what it was started with
	Programs    int // users' programs that run beside this process at once
	ProgramMB   int // Go's soft limit of each
	// What jobs take together, what is being read, and answers that are being written, in bytes.
	Jobs, Requests, Answers int64
}

// Of divides the container of a cluster of one mode.
func Of(mode launch.Mode, options config.Config) Shares {
	container := options.Memory(config.JobManagerProcessSize).Megabytes()
	s := Shares{ContainerMB: container}
	switch mode {
	case launch.Application:
		s.Programs = 1
	case launch.Session:
		s.Programs = sessionPrograms
	case launch.PerJob: // its program has planned where the client runs
	}
	heapMB := container * launch.MasterHeapShare / 100
	if s.Programs > 0 {
		heapMB = container * sharedHeapPart / 100
		s.LimitMB = heapMB
		s.ProgramMB = max(container*(programsPart/s.Programs)/100, leastProgramMB)
	}
	heap := int64(heapMB) << 20
	s.Jobs, s.Requests, s.Answers = heap*jobsPart/100, heap*requestsPart/100, heap*answersPart/100
	return s
}
