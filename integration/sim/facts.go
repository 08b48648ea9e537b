package sim

// Facts are counts, by which a named schedule shows that it has met its failure. They also count the calls
// to HDFS and YARN that a fault has hit, named by fate and call, for example "lost allocate".
type Facts map[Fact]int

// Fact is what is counted.
type Fact string

// The Facts beside the calls.
const (
	Masters    Fact = "masters"     // processes that were started
	Beside     Fact = "beside"      // masters that were started while another one of their application ran
	Workers    Fact = "workers"     // processes that were started
	Adopted    Fact = "adopted"     // workers that a later master has taken over
	GivenBack  Fact = "given back"  // containers of earlier attempts that a later master has released
	Uber       Fact = "uber"        // workers that were started in the container of their master
	Hosts      Fact = "hosts"       // likewise
	NoHosts    Fact = "no hosts"    // task hosts that could not be started
	Files      Fact = "files"       // cached files that workers have copied
	NoFiles    Fact = "no files"    // cached files that could not be copied
	Programs   Fact = "programs"    // of applications, that were started
	Streams    Fact = "streams"     // that workers have opened to roles
	HeldBack   Fact = "held back"   // registrations that have arrived late
	Stuck      Fact = "stuck"       // task hosts that have ended because a cancelled task did not
	Outdated   Fact = "outdated"    // messages that a fault has sent again, under an earlier grant
	Reruns     Fact = "reruns"      // runs of tasks after the first one of each in its job
	Waited     Fact = "waited"      // seconds in which a master has waited for containers
	Rekeyed    Fact = "rekeyed"     // calls of masters with a token of a rolled key
	Tokens     Fact = "tokens"      // delegation tokens that masters have got
	Excused    Fact = "excused"     // applications that need not succeed
	Unknown    Fact = "unknown"     // applications that YARN has told their clients not to know
	Orphaned   Fact = "orphaned"    // applications that have succeeded after their client had died
	FailedJobs Fact = "failed jobs" // of sessions
	Failed     Fact = "failed"      // applications that have failed
	Grouped    Fact = "grouped"     // tasks that ran in slots of a group with resources
	Struck     Fact = "struck"      // faults that have waited for a call
	Canceled   Fact = "canceled"    // jobs that clients have learned to be CANCELED
	Archived   Fact = "archived"    // jobs that have ended
	Partitions Fact = "partitions"  // blocking ones that tasks have written
	NotRead    Fact = "not read"    // reads of a partition that is damaged, or not there any more
	Held       Fact = "held"        // tasks of earlier masters of whose partitions workers have told
	Spared     Fact = "spared"      // tasks that read from a source of an earlier master, which need not run again
	Further    Fact = "further"     // attempts that were deployed while another one of their task ran
	// FinishedAgain are attempts that have finished after another one of their task, which ran at the same time.
	FinishedAgain Fact = "finished again"
	Waves         Fact = "waves" // deployments of tasks whose exchanges are blocking because slots were too few
)

// fate is what becomes of a call.
type fate string

// The fates of calls, as Facts name them.
const (
	answered   fate = "answered"
	held       fate = "held"       // its server does not answer yet
	refused    fate = "refused"    // because its server is away
	lost       fate = "lost"       // before its effect
	unanswered fate = "unanswered" // after its effect
	expired    fate = "expired"    // its token has ended
)

// meets counts a call that a fault has hit.
func (w *World) meets(what fate, call string) { w.facts[factOf(what, call)]++ }

// factOf is the Fact that counts the calls with a fate.
func factOf(what fate, call string) Fact { return Fact(string(what) + " " + call) }
