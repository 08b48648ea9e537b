package connector

import "context"

// Sink is where a job writes elements of type T. Its result becomes visible when all is written, as a whole or not at all:
//
//  1. Each attempt of a subtask writes with a Writer of its own, so that no reader sees it. If an attempt fails, or its process
//     is killed, the next attempt begins again. Two attempts of one subtask may run at the same time.
//  2. Prepare ends the writing of one attempt, and gives its committable: a text that names what was written.
//  3. One task gets the committables of one attempt of each subtask. The master stores them. Then the task calls Commit, which
//     makes what they name visible.
type Sink[T any] interface {
	// Check says before the job is submitted whether the output may be written: that it does not exist, for example. It runs
	// in the planner's process, and changes nothing.
	//
	// A sink that writes files returns the directories that it writes, as URIs. A job is refused if two of its outputs overlap,
	// or if it reads a file in one. In each, Bobbin makes the directory _temporary/<Job>/e<Epoch> before tasks run. When the job
	// ends without a result, Bobbin removes _temporary/<Job>, although no process of the job may be left. If the master
	// changes, the directory moves to the new epoch with all that is in it, because Commit may get committables of the old one.
	// Without high availability all tasks run again: then it is removed, and an empty one is made.
	//
	// A sink of another system returns no directory. Nothing tells that system that a process or the job is lost. So the
	// system needs a rule of its own to drop what was not committed, such as a time.
	Check(ctx context.Context, p Planning) (directories []string, err error)
	// NewWriter makes the writer of one attempt of a subtask, before its first element, or at the end of the data if there is
	// none. ctx ends with the attempt.
	NewWriter(ctx context.Context, e Environment) (Writer[T], error)
	// Commit makes visible what the committables name, and nothing else; committables[i] is of subtask i. Some may be of
	// earlier epochs than others, because finished subtasks survive their master. If the call fails,
	// or its process or the answer is lost, Commit is called again, maybe in another process, and maybe while the first call
	// still runs:
	//   - with the same committables, and then the result must be as of one call. It is no error if all is visible already.
	//   - with other committables and a greater Epoch, because the master and its memory were lost, so all of the job has run
	//     again. Then exactly one of the results must be visible in the end. An earlier result of the same Job may stay, or be
	//     replaced. From then on, calls of earlier epochs must change nothing.
	//
	// In one epoch, the Attempt of a later call is a longer text, or one of the same length that is greater.
	Commit(ctx context.Context, e Environment, committables []string) error
}

// Writer writes the elements of one attempt of a subtask. Only one goroutine uses it.
type Writer[T any] interface {
	// Write takes an element, which is valid until Write returns.
	Write(element T) error
	// Prepare ends the writing. All that was written must survive the loss of this process. The committable is valid UTF-8 of
	// at most MaxCommittable bytes, or less with more than 2,048 subtasks: see MaxCommittables. It may be "" if there is nothing
	// to commit. Prepare is called at most once, after the last element.
	Prepare(ctx context.Context) (committable string, err error)
	// Close ends the writer. It is called at the end of the attempt. Without a Prepare that succeeded, Close drops what was
	// written. After it, Close must leave that alone, because the commit may have begun. A second call does nothing.
	Close() error
}
