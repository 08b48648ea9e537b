// Package taskexecutor is the role that runs in every worker container. It registers with the
// ResourceManager, holds the worker's slots, offers the slots that were granted to a job to its
// JobMaster, and starts and watches one task host for each job that has a slot here. It runs no
// user code and handles no records.
//
// It outlives its ApplicationMaster: it keeps slots and hosts until it has found the next one, and gives them to the
// roles there. Each of their fencing tokens names an epoch. Roles of a lower epoch than the highest known one are
// refused, because their process may have been stopped while another one took over.
//
// It serves the blocking partitions that its hosts have finished, also when the hosts have ended, until the JobMaster releases them or
// the job ends. Each JobMaster that admits it is told which ones are here.
//
// core is the pure state machine: registration, slot table, jobs, programs, hosts, partitions. TaskExecutor is
// the loop around it. Beside the loop's goroutine, the shell owns one for each stream, three for
// each task host (its life and its two directions), one for each fetched program, one that looks
// for the leader, and one that samples memory. Run waits for all of them. When the TaskExecutor
// ends, for any reason, the hosts in its container end too, because their control socket closes.
//
// The package must not import the AM's roles nor speak to YARN.
package taskexecutor
