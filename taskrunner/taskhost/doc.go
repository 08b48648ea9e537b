// Package taskhost runs the tasks of one job on one worker: in its own process, which the
// TaskExecutor starts from the job's program, or as goroutines in local mode.
//
// It owns the tasks, the job's end of the data plane (exchange) and its files. It gets messages
// from the TaskExecutor over the control connection, and ends when the TaskExecutor does.
// Goroutines: one for each task, which runs user code; the loop around the core, which decides; one
// that reads the control connection, one that writes to it, and one that measures progress. Run
// starts all of them. It waits for all except tasks that do not end.
//
// A panic in a task's goroutine fails the task. os.Exit, fatal errors of the runtime, and panics in
// goroutines that user code starts end the process, and the TaskExecutor notices this.
//
// The package does not import the SDK: Program gives the tasks of a job. It must never import
// another role.
package taskhost
