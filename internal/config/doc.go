// Package config holds Bobbin's options: their table (keys.go), their syntax, and the Config of a
// process. An option with Flink's meaning has Flink's name, type and syntax. Defaults may differ;
// the table says so.
//
// A Config is immutable, and New checks all of it: unknown names, values that do not parse, and
// values out of their range are errors. So reading an option never fails. A second table
// (relations.go) lists the options that can contradict each other. A process that starts or submits
// something calls Validate before it uploads anything. The roles check their settings against the
// same tables (Check). Hadoop's own options are in hadoopconf.
//
// The package starts no goroutine, reads no environment and imports nothing of this module.
package config
