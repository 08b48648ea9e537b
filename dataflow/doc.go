// Package dataflow is the SDK for jobs: typed streams, operators, sources and
// sinks.
//
// A job is a plan function with arguments. A package variable registers it:
//
//	var WordCount = dataflow.Job("wordcount", func(p *dataflow.Plan, a Args) error {
//		lines := dataflow.ReadText(p, a.Input...)
//		words := dataflow.FlatMap(lines, eachWord)
//		counts := dataflow.Count(dataflow.KeyBy(words, dataflow.Identity))
//		dataflow.WriteText(counts, a.Output, tabSeparated)
//		return nil
//	})
//
// Env.Execute plans the job and hands it to an Executor. The driver plans the
// job, and so does every process that runs its tasks. So a plan function does no
// I/O and depends only on its arguments. The planner calls it twice and refuses
// the job if the two plans differ.
//
// The functions that a plan gives to operators run in many goroutines at once,
// one for each subtask. They must not share mutable state; FlatMapWith gives each
// subtask a function of its own. A function owns its element until it returns. It
// may change a []byte in place, but must copy it to keep it, because the memory
// is used again. If a stream has several consumers, each gets its own copy of a
// []byte. Elements of other types are copied as Go values: the consumers share
// the memory that they point to.
//
// Operators of the same parallelism that feed each other run in one goroutine, as
// plain function calls. An element is encoded only when it leaves that goroutine.
// The planner chooses the codec once for each type (package codec).
//
// The package imports nothing of Bobbin outside its own directory. Its goroutines
// end before the task that started them.
package dataflow
