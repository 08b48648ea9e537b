// Package logging gives every process its log and keeps what user code prints:
// files in YARN's <LOG_DIR>, rotated at 10 MB with 10 kept, so that `yarn logs`
// finds them and no disk fills up. Lines are written through, so the last ones
// before a crash are there.
//
// The package starts no goroutine and imports nothing of ours. It never sees
// secrets: those who log keep them out.
package logging
