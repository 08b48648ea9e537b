// Package dataflow is the SDK in which a job is written: typed streams, the
// operators on them, sources and sinks.
//
// A job is a plan function with arguments, registered in a package variable:
//
//	var WordCount = dataflow.Job("wordcount", func(p *dataflow.Plan, a Args) error {
//		lines := dataflow.ReadText(p, a.Input...)
//		words := dataflow.FlatMap(lines, eachWord)
//		counts := dataflow.Count(dataflow.KeyBy(words, dataflow.Identity))
//		dataflow.WriteText(counts, a.Output, tabSeparated)
//		return nil
//	})
//
// Env.Execute plans it and hands it to an Executor. Planning happens in the
// driver and again in every process that runs tasks of the job, so a plan
// function does no I/O and depends on nothing but its arguments: it is run
// twice, and refused if the two plans differ.
//
// The functions that a plan gives to operators run in many goroutines at once,
// one for each subtask: they share nothing that changes (FlatMapWith gives each
// subtask a function of its own). An element belongs to the function that is
// given it until the function returns. In particular a []byte may be changed in
// place, but must be copied to be kept, for its memory is used again. Where a
// stream has several consumers each gets its own copy of a []byte; of other
// types they share what the element points to.
//
// Operators of one parallelism that feed each other run in one goroutine as plain
// function calls. Elements are encoded only where they leave it, by a codec that
// is chosen once for each type (package codec).
//
// The package imports nothing of ours outside its own directory. Its goroutines
// end before the task that started them does.
package dataflow
