// Package logging has the log of every process, and keeps the output of user code. Log files are in
// YARN's <LOG_DIR>, where `yarn logs` finds them. They rotate at 10 MB and 10 files are kept, so no
// disk fills up. Lines are written at once, so the last lines before a crash are there.
//
// The package starts no goroutine and imports nothing of this module. Callers must not log secrets.
package logging
