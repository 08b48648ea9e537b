// Package randomjobs makes jobs at random, and knows their results without the SDK. A Job is a description: data that
// travels as the argument of one registered plan function, so each process that runs tasks plans the same graph. Check
// computes what the job must write, from the same description, with slices, maps and sort, and compares.
//
// Both sides share the functions of the operators (functions.go) and the input (input.go). Everything else is the SDK's
// on one side, and a few plain lines on the other: exchanges, codecs, keys, order, memory, files.
//
// Only tests use the package. It starts no goroutines.
package randomjobs
