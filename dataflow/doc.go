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
// subtask a function of its own.
//
// A function owns its element until it returns. If the element is a []byte, the
// function may change it in place, and each consumer of a stream gets its own
// copy. A condition, a key, a comparison or the value of Min and Max must not
// change it, because the element goes on. Elements of other types are copied as Go values: all consumers share the
// slices, maps and pointers in them, and operators such as TopN keep them. So no
// function may change these once the element is emitted. A []byte is the
// exception: its memory is used again, within other types, too. So a function
// must copy a []byte to keep it, and operators do. A string made of a []byte by
// package unsafe is not copied: do not emit one.
//
// Operators of the same parallelism that feed each other run in one goroutine, as
// plain function calls. An element is encoded only when it leaves that goroutine.
// The planner chooses the codec once for each type (package codec).
//
// The package imports nothing of Bobbin outside its own directory. Its goroutines
// end before the task that started them.
package dataflow
