// Package config holds Bobbin's options: their one table (keys.go), their
// syntax, and the Config that a process runs under. Names, types and syntax are
// Flink's where the meaning is; defaults differ where the table says so.
//
// A Config is immutable and checked as a whole when it is made: an unknown name,
// with the nearest known one, a value that does not parse and one that is out of its
// range (Range) are errors then, and reading an option never fails. Which options
// contradict each other stands in one table, too (relations.go): who starts or submits
// something asks Validate before anything is uploaded, and the roles check what they are
// told by the same facts (Check). Hadoop's own options are not here but in hadoopconf.
//
// The package starts no goroutine, reads no environment and imports nothing of
// ours.
package config
