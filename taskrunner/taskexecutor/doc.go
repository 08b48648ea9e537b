// Package taskexecutor is the role that runs in every worker container. It
// registers at the ResourceManager, holds the worker's slots, offers those it
// was asked for to their JobMasters, and starts and watches one task host for
// each job that has a slot here. It runs no user code and sees no record.
//
// core is the pure state machine: registration, slot table, jobs, programs,
// hosts. TaskExecutor is the loop around it. The shell owns, beside the loop's
// goroutine, one for each stream, three for each task host (its life and its two
// directions), one for each program that was fetched, and one that samples memory;
// Run waits for all of them. Within the container, hosts end when the TaskExecutor
// does, however it does: their control socket closes.
//
// The package must not import the AM's roles nor speak to YARN.
package taskexecutor
