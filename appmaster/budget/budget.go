// Package budget divides the memory of the ApplicationMaster's container, estimates how much of it jobs
// take, and admits jobs and requests that fit.
//
//	container (memory.MasterOf)
//	├─ this process' heap, Go's soft limit (memory.Master.Heap)
//	│   ├─ 40 % jobs: those that run, what they collect, and what is kept of those that have ended
//	│   ├─ 25 % what is being read: requests, and jobs of users' programs, with what is decoded from them
//	│   ├─  5 % answers that are being written
//	│   └─ the rest is for what does not grow: the program itself with its clients of YARN and HDFS,
//	│      some 15 MB; 64 KB for each worker's stream; two views while they are composed, each of which
//	│      takes some four times its answer's length, and 600 bytes for each subtask if it is about one
//	│      vertex; four dumps of goroutines, 2 MB each; and garbage: Go's collector needs a third of the
//	│      heap for it, or it only collects
//	├─ users' programs (memory.Master.OffHeap): one in an application, four in a session
//	└─ program text, stacks, the kernel's share
//
// # Why a text counts by its length
//
// A Room bounds the length of a text, and does not look into it. For what is decoded it sets aside five
// times as much (growth). The figures are from TestJobsTakeNoMoreThanTheirRoom and TestWhatForgedJobsTake:
// memory that stays in use for each byte of text. Everything else that decoding takes is garbage at once.
//
//	                                               JSON   CBOR
//	10,000 files, one in a split     2.0, 1.6 MB    1.5    1.6
//	10,000 files, 16 in a split      0.7, 0.5 MB    1.1    1.3
//	3,000 vertices, edges, options   0.6, 0.4 MB    2.2    2.7
//	a forged job: a vertex a number, or null        66     120
//
// So every job that Bobbin's encoder writes fits, because names alone make an element long. A forged text
// does not fit. A safe bound against forged texts would be 120 instead of five. It would leave 0.2 MiB for
// a job with -jm 512m, less than a tenth of 10,000 files. A scan of each text before decoding would keep
// nobody out: the right to submit a job is the right to run a program (package rest), a program that
// submits jobs runs already, and either can end this process at once, as the same user of the operating
// system.
//
// Shares, estimates and Jobs are pure. A Room waits, and may be used from any goroutine. The package starts
// no goroutines. It must never import a role.
package budget

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Parts of the heap, in percent.
const (
	jobsPart     = 40
	requestsPart = 25
	answersPart  = 5
)

// Shares is how an ApplicationMaster's memory is divided.
type Shares struct {
	memory.Master
	// Memory for all jobs, for requests that are being read, and for answers that are being written, in
	// bytes.
	Jobs, Requests, Answers int64
	// JobText is the longest text of a job of an application's program, which is read outside Requests:
	// decoded (growth), it fits into Jobs. In bytes.
	JobText int64
	// Staged is the longest file that the client stages for a cluster's start, in bytes. Nothing else takes
	// memory then: a copy of the text, and what is decoded from it, have the whole heap. Together they are
	// 3.2 times as long as the file at most, by the figures above, and growth leaves the rest for garbage.
	Staged int64
}

// Of divides the container of a cluster of the given mode. The error is that of memory.MasterOf.
func Of(mode launch.Mode, options config.Config) (Shares, error) {
	master, err := memory.MasterOf(options, mode.Programs())
	if err != nil {
		return Shares{}, fmt.Errorf("divide the ApplicationMaster's memory: %w", err)
	}
	heap := int64(master.Heap)
	s := Shares{Master: master, Jobs: heap * jobsPart / 100, Requests: heap * requestsPart / 100, Answers: heap * answersPart / 100}
	s.JobText, s.Staged = s.Jobs/growth, heap/growth
	return s, nil
}
