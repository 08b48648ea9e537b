// Package taskhost runs the tasks of one job on one worker: in a process of its
// own, started from the job's program by the TaskExecutor, or as goroutines in
// local mode.
//
// It owns the tasks, the job's end of the data plane (exchange) and its files. It
// hears from the TaskExecutor over the control connection and ends when that
// does. Goroutines: one for each task, which runs user code; the loop around the
// core, which decides; one that reads the control connection, one that writes to
// it, and one that measures progress. Run starts all and waits for all but tasks
// that cannot be ended.
//
// A panic in a task's goroutine fails the task; os.Exit, fatal errors of the
// runtime and panics in goroutines of the user's end the process, which the
// TaskExecutor sees.
//
// The package does not import the SDK: what a job consists of comes from Program.
// It must never import another role.
package taskhost
