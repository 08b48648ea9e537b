package client

import "strings"

// lastWords gives what an ApplicationMaster that ended by itself wrote on its
// standard error, of the diagnostics that YARN makes of it: they hold the end of
// that file, twice, amid what the NodeManager has to say
// (ContainerLaunch#handleContainerExitWithFailure). ok is false where they hold
// nothing of the kind: YARN ended it, or it was never started.
func lastWords(diagnostics string) (words string, ok bool) {
	_, rest, found := strings.Cut(diagnostics, "bytes of "+masterStderr+" :\n")
	if !found {
		return "", false
	}
	words, _, _ = strings.Cut(rest, "\n\n[") // the time that the next entry begins with
	words = strings.TrimSpace(words)
	return words, words != ""
}
