package main

import "context"

// contender is a system that runs the same job on the same cluster as the others. Its commands are
// those of its users. The application's id names a session.
type contender interface {
	environment() []string
	// perJob runs the job in a cluster of its own, and returns after its end.
	perJob() []string
	// uploading is perJob while nothing of the contender is on the cluster. forget removes it.
	uploading() []string
	forget(ctx context.Context) error
	// application starts the job in a cluster whose ApplicationMaster also runs the program.
	application() []string
	// session starts a session, and returns when it is ready.
	session() []string
	// job runs the job in a session, and returns after its end.
	job(session string) []string
	// list lists the jobs of a session.
	list(session string) []string
}

// bobbin is Bobbin, with examples/wordcount-tuned.
type bobbin struct {
	*rig
	input string
}

func (b bobbin) perJob() []string { return b.command("run", "-t", "yarn-per-job") }

func (b bobbin) uploading() []string { return b.perJob() }

func (b bobbin) forget(ctx context.Context) error { return b.dropCache(ctx) }

func (b bobbin) application() []string { return b.command("run-application") }

func (b bobbin) session() []string { return []string{b.program("bobbin"), "session", "start", "-d"} }

func (b bobbin) job(session string) []string {
	return b.command("run", "-t", "yarn-session", "-id", session)
}

func (b bobbin) list(session string) []string {
	return []string{b.program("bobbin"), "list", "-id", session}
}

// command returns a command that runs the example.
func (b bobbin) command(words ...string) []string {
	words = append([]string{b.program("bobbin")}, words...)
	return append(words, b.program("examples/wordcount-tuned"), "--input", b.input, "--output", b.input+"-counts", "--overwrite")
}
