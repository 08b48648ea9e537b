package taskexecutor

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// world is a naive account of a TaskExecutor with three slots and of its environment. It uses only
// the events, and the ids that the core gives. Its numbers come from docs/OPTIONS.md and from the
// comments below.
type world struct {
	t      *rapid.T
	core   *core
	now    time.Time
	slots  [3]modelSlot
	jobs   map[ids.JobID]*modelJob // jobs that have a slot, or are giving the last one back
	rm     modelRole
	rmDown time.Time // since when no ResourceManager has admitted it
	links  map[linkID]*modelLink
	gone   []linkID // closed links
	hosts  map[ids.HostID]*modelHost
	names  map[ids.HostID]bool // all ids of hosts so far
	newest string              // the newest tokens of the ResourceManager
	leader modelLeader
	files  map[ids.PartitionID]modelFile        // of finished partitions
	done   map[ids.ExecutionAttemptID]ids.JobID // finished tasks that JobMasters are told of

	programs map[string]*modelProgram // by SHA-256, without the one that came with the container; files by URI
	copies   map[copyID]*modelProgram
	lastCopy copyID
	idle     []*modelProgram // the oldest first
	timers   []dated         // the timers that are set, in the order in which they are due
	late     time.Duration   // delay of the timer that fires in this step
	excuses  map[timer]bool  // timers whose term was started again, because the worker was stopped
	begins   timer           // the timer whose term starts again in this step
	ending   bool
	end      *end

	want, got []string // the required and the actual effects of a step
	history   []moment
}

// modelSlot is a slot; it is free if it has no allocation.
type modelSlot struct {
	allocation ids.AllocationID
	job        ids.JobID
	memoryMB   int
	offered    time.Time // to the JobMaster
	accepted   bool      // by it
	givenBack  bool      // it stays in use until the host has ended
}

// modelRole is a role at which the TaskExecutor wants to register.
type modelRole struct {
	link     linkID // 0: there is none
	lost     linkID // a lost link that needs a successor
	failures int    // in a row
}

type modelLink struct {
	job      ids.JobID // "" for the ResourceManager
	epoch    ids.Epoch // of the master that has admitted it
	open     bool
	admitted bool
	outdated bool // slots became free since the registration was sent
	modelWatch
	informed bool       // it was told of the partitions that are here
	takes    ids.HostID // the host that takes tasks, as the JobMaster was told over this link
}

// modelWatch watches a peer with a heartbeat every 10 s.
type modelWatch struct {
	heard time.Time
	due   time.Time // the next one
}

// beats starts as if a message had just come.
func (w *world) beats() modelWatch { return modelWatch{w.now, w.now.Add(10 * time.Second)} }

// lost tells whether 50 s have passed without a message. It does not count the time in which the
// worker was stopped or late.
func (m *modelWatch) lost(now time.Time) bool {
	if late := now.Sub(m.due); late > 0 {
		if m.heard = m.heard.Add(late); m.heard.After(now) {
			m.heard = now
		}
	}
	m.due = now.Add(10 * time.Second)
	return now.Sub(m.heard) >= 50*time.Second
}

type modelJob struct {
	modelRole
	master      ids.JobMasterID
	program     *modelProgram
	files       []*modelProgram
	host        *modelHost
	early       int // hosts in a row that ended before they were ready
	brief       int // hosts in a row that ended less than 10 s after they were ready
	pause       ids.HostID
	unavailable string    // the text for the JobMaster
	tasks       int       // as its JobMaster said last
	unready     time.Time // since when the master says that its JobMaster is being made
}

type modelHost struct {
	id                  ids.HostID
	as                  ids.HostID // by which the JobMaster knows it: a new one with each reset
	tasks               int        // of the job, as it was instructed
	takes               bool       // the JobMaster knows that it takes tasks
	resetting           bool       // it was told to begin anew, and has not answered
	job                 ids.JobID
	program             string
	deployed            map[ids.ExecutionAttemptID]bool // tasks whose end it has not told
	greeted, instructed bool
	ready               time.Time
	stopping, killed    bool
	blamed              bool // its failure is known: why it was killed, or its own report
	hopeless            bool // the program speaks another protocol
	watched, told       int  // its memory in MB, for the sampler and as sent to the host
	tokens              string
	asked               bool // for a heartbeat
	modelWatch
}

// modelProgram is a program or a file.
type modelProgram struct {
	sha256   string // the URI of a file
	file     string // "" until it is here
	begun    bool   // its fetch
	size     config.Bytes
	failures int
	refused  bool   // its fetch had no valid token, and the next one waits
	refusals int    // such fetches while the ResourceManager had admitted the worker
	tokens   string // with which its fetch began
}

func newWorld(t *rapid.T) *world {
	config := testConfig(3)
	config.Address, config.GiveUp, config.Seed = "am1", 16*time.Minute, 7
	config.PartitionDisks, config.PartitionAddress = 2, "n1:7"
	core, err := newCore(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, core: core, now: testEpoch, rmDown: testEpoch, leader: modelLeader{leads: 1, address: "am1"},
		files: make(map[ids.PartitionID]modelFile), done: make(map[ids.ExecutionAttemptID]ids.JobID),
		jobs: make(map[ids.JobID]*modelJob), links: make(map[linkID]*modelLink), hosts: make(map[ids.HostID]*modelHost), names: make(map[ids.HostID]bool),
		programs: make(map[string]*modelProgram), copies: make(map[copyID]*modelProgram), excuses: make(map[timer]bool),
	}
}

// must adds a required effect of this step.
func (w *world) must(format string, args ...any) {
	w.want = append(w.want, fmt.Sprintf(format, args...))
}

func (w *world) does(format string, args ...any) {
	w.got = append(w.got, fmt.Sprintf(format, args...))
}

// held are the slots that a job may use.
func (w *world) held(job ids.JobID) []int {
	var held []int
	for i, s := range w.slots {
		if s.allocation != "" && s.job == job && !s.givenBack {
			held = append(held, i)
		}
	}
	return held
}

func (w *world) memoryMB(job ids.JobID) int {
	total := 0
	for _, i := range w.held(job) {
		total += w.slots[i].memoryMB
	}
	return total
}

// find is the slot of an allocation, or -1.
func (w *world) find(allocation ids.AllocationID) int {
	return slices.IndexFunc(w.slots[:], func(s modelSlot) bool { return s.allocation != "" && s.allocation == allocation })
}

func (w *world) admitted(link linkID) bool { return w.links[link] != nil && w.links[link].admitted }

// tell requires a message to a job's JobMaster, if it can be reached.
func (w *world) tell(j *modelJob, format string, args ...any) {
	if w.admitted(j.link) {
		w.must("to %d: "+format, append([]any{j.link}, args...)...)
	}
}

// happens updates the account by an event.
func (w *world) happens(event event) {
	if w.ending {
		w.happensLate(event)
		return
	}
	switch e := event.(type) {
	case started:
		w.opens("")
	case linkOpened:
		l := w.links[e.Link]
		if l == nil {
			w.must("close %d", e.Link)
			return
		}
		l.open = true
		if l.job == "" {
			w.must("to %d: register with %s, of %v", e.Link, w.report(), w.served())
		} else {
			w.must("to %d: register", e.Link)
		}
	case linkLost:
		if l := w.links[e.Link]; l != nil {
			if j := w.jobs[l.job]; j != nil && !e.NotReady {
				j.unready = time.Time{}
			} else if j != nil && j.unready.IsZero() {
				j.unready = w.now
			}
			w.linkEnds(e.Link)
		}
	case roleSaid:
		if l := w.links[e.Link]; l != nil {
			l.heard = w.now
			w.roleSays(e.Link, l, e.Message)
		}
	case hostSaid:
		if h := w.hosts[e.Host]; h != nil {
			h.heard, h.asked = w.now, false
			w.hostSays(h, e.Message)
		}
	case hostOverMemory:
		if h := w.hosts[e.Host]; h != nil && !h.blamed {
			h.blamed = true
			w.kill(h)
		}
	case hostExited:
		if h := w.hosts[e.Host]; h != nil {
			w.hostEnds(h)
		}
	case fetched:
		if p := w.copies[e.Copy]; p != nil && p.file == "" && !p.refused {
			p.file, p.size = e.File, e.Size
			w.fetchFiles(p)
		}
	case fetchFailed:
		w.fetchFails(e)
	case leaderFound:
		w.leaderFound(e)
	case leaderNotFound:
		w.leader.finding = false
		w.seek()
	case woken: // timerFires handles the timers
	}
}

// happensLate updates the account by an event while the hosts end: nothing is started any more.
func (w *world) happensLate(event event) {
	switch e := event.(type) {
	case linkOpened:
		if l := w.links[e.Link]; l != nil {
			l.open = true
		}
	case linkLost:
		delete(w.links, e.Link)
	case hostExited:
		if w.hosts[e.Host] != nil {
			delete(w.hosts, e.Host)
			w.tidies(e.Host)
		}
	default: // it changes nothing now
	}
}

// linkEnds handles that a link is lost or was dropped by the worker: the worker opens another one.
// The tasks of a lost JobMaster end, and the slots are offered to this JobMaster or the next one.
func (w *world) linkEnds(id linkID) {
	l := w.links[id]
	delete(w.links, id)
	w.gone = append(w.gone, id)
	if l.job == "" {
		w.rm = modelRole{lost: id, failures: w.rm.failures + 1}
		if l.admitted {
			w.rmDown = w.now
		}
		w.seek()
		return
	}
	j := w.jobs[l.job]
	j.modelRole = modelRole{lost: id, failures: j.failures + 1}
	if l.admitted {
		w.masterLost(l.job, j)
	}
}

func (w *world) masterLost(job ids.JobID, j *modelJob) {
	for _, i := range w.held(job) {
		w.slots[i].accepted = false
	}
	h := j.host
	if h == nil || !h.takes {
		return
	}
	h.takes = false
	if !h.stopping && !h.blamed {
		h.resetting = true
		w.must("host %s: reset", shortHost(h.id))
	}
}

// giveUp closes a link from the side of the worker.
func (w *world) giveUp(id linkID) {
	w.must("close %d", id)
	w.linkEnds(id)
}

func (w *world) stop(h *modelHost) {
	if h.stopping {
		return
	}
	h.stopping = true
	w.must("host %s: stop", shortHost(h.id))
	if h.takes {
		w.tell(w.jobs[h.job], "%s stops", shortHost(h.as))
	}
}

func (w *world) kill(h *modelHost) {
	h.killed = true
	w.must("kill %s", shortHost(h.id))
}

func (w *world) roleSays(id linkID, l *modelLink, m msg.Message) {
	j := w.jobs[l.job]
	switch m := m.(type) {
	case msg.TaskExecutorRegistered:
		w.registeredAtResourceManager(id, l, m)
	case msg.RegistrationRejected:
		if m.ResourceManager.Epoch() < w.leader.epoch { // of an earlier master
			w.giveUp(id)
		} else {
			w.ends()
		}
	case msg.UpdateTokens:
		w.newTokens(l, string(m.Tokens))
	case msg.Heartbeat:
		if l.admitted && l.job == "" {
			w.leader.workers = max(m.Workers, 1)
		}
	case msg.ReleaseTaskExecutor:
		if l.admitted {
			w.ends()
		}
	case msg.RequestSlots:
		if l.admitted {
			w.slotsRequested(id, m)
		}
	case msg.RegisteredAtJobMaster:
		epoch := m.JobMaster.Epoch()
		switch {
		case l.admitted:
		case epoch < w.leader.epoch, m.JobMaster != j.master && epoch <= j.master.Epoch():
			w.giveUp(id)
		default:
			j.master = m.JobMaster
			w.learn(epoch)
			l.admitted, l.epoch, l.modelWatch, j.failures = true, epoch, w.beats(), 0
			w.must("token of %d is %s", id, m.JobMaster)
			w.must("to %d: holds %v, of %v", id, w.partitionsOf(l.job), w.doneOf(l.job))
			if held := w.held(l.job); len(held) > 0 {
				w.must("to %d: offer %v", id, w.offers(held))
				w.offered(held)
			}
			if h := j.host; h != nil && h.instructed && h.tasks != m.Tasks {
				w.stop(h)
			}
			j.tasks = m.Tasks
			w.hostTakes(j.host)
			if j.unavailable != "" {
				w.must("to %d: %s", id, j.unavailable)
			} else if j.program != nil {
				w.needFiles(l.job, j)
			}
		}
	case msg.SlotOffersAnswered:
		for _, a := range m.Accepted {
			i := w.find(a)
			if i < 0 || w.slots[i].job != l.job || w.slots[i].givenBack { // it would deploy into a slot of another job
				w.giveUp(id)
				return
			}
			w.slots[i].accepted = true
		}
		w.giveBack(l.job, m.Rejected...)
	case msg.FreeSlots:
		w.giveBack(l.job, m.Allocations...)
	case msg.Disconnect:
		var all []ids.AllocationID
		for _, i := range w.held(l.job) {
			all = append(all, w.slots[i].allocation)
		}
		if j.host != nil {
			j.host.deployed = nil
		}
		w.giveBack(l.job, all...)
		w.release(l.job, w.partitionsOf(l.job)...)
		w.forget(l.job)
	case msg.ReleasePartitions:
		w.release(l.job, m.Partitions...)
	case msg.DeployTasks:
		if h := j.host; h != nil && h.as == m.Host && h.takes && !h.stopping {
			w.must("host %s: deploy", shortHost(h.id))
			h.deploys(m.Tasks)
		} else if l.takes == m.Host {
			w.t.Fatalf("tasks for host %s are dropped, of which the JobMaster knows only that it is ready", shortHost(m.Host))
		}
	}
}

func (w *world) newTokens(l *modelLink, tokens string) {
	if !l.admitted || tokens == w.newest {
		return
	}
	w.newest = tokens
	w.must("tokens %s", tokens)
	for _, id := range slices.Sorted(maps.Keys(w.copies)) {
		if w.copies[id].refused {
			w.refetch(id)
		}
	}
	for _, h := range w.hosts {
		if h.instructed && !h.stopping {
			w.must("host %s: tokens %s", shortHost(h.id), tokens)
		}
	}
}

// offers are slots in the form that a JobMaster gets.
func (w *world) offers(slots []int) []msg.SlotOffer {
	var offers []msg.SlotOffer
	for _, i := range slots {
		offers = append(offers, msg.SlotOffer{Index: i, Allocation: w.slots[i].allocation})
	}
	return offers
}

func (w *world) offered(slots []int) {
	for _, i := range slots {
		w.slots[i].offered = w.now
	}
}

// report is the slot report for the ResourceManager, with the word whether the worker serves partitions. A slot that was given
// back stays occupied until its host has ended.
func (w *world) report() string {
	var report []msg.SlotStatus
	for i, s := range w.slots {
		report = append(report, msg.SlotStatus{Index: i, Allocation: s.allocation, Job: s.job})
	}
	return showReport(report, len(w.files) > 0)
}

// slotsRequested grants free slots, and refuses impossible requests. A repeated request is granted
// again.
func (w *world) slotsRequested(rm linkID, m msg.RequestSlots) {
	var answer []string
	var taken []int
	for _, o := range m.Slots {
		at := w.find(o.Allocation)
		refused := o.Index < 0 || o.Index >= 3 || at >= 0 && (at != o.Index || w.slots[at].job != m.Job) ||
			at < 0 && w.slots[o.Index].allocation != "" || m.Program.SHA256 == nowhere || m.JobMaster.Epoch() < w.leader.epoch
		answer = append(answer, fmt.Sprintf("%d for %s, refused: %t", o.Index, o.Allocation, refused))
		if !refused && at < 0 {
			w.slots[o.Index] = modelSlot{allocation: o.Allocation, job: m.Job, memoryMB: int(m.Memory.Limit() >> 20)}
			taken = append(taken, o.Index)
		}
	}
	sort.Strings(answer)
	w.must("to %d: slots %v", rm, answer)
	if len(taken) == 0 {
		return
	}
	j := w.jobs[m.Job]
	if j == nil {
		j = &modelJob{master: m.JobMaster}
		w.jobs[m.Job] = j
	}
	if j.master != m.JobMaster { // the job has another JobMaster now
		j.master = m.JobMaster
		if j.link != 0 {
			w.leave(j)
		}
		w.masterLost(m.Job, j)
	}
	if j.program == nil {
		if j.program = w.need(m.Program.SHA256); w.admitted(j.link) {
			w.needFiles(m.Job, j)
		}
	}
	if j.link == 0 {
		j.modelRole = modelRole{}
		w.opens(m.Job)
	}
	w.tell(j, "offer %v", w.offers(taken))
	w.offered(taken)
}

// leave closes a job's link for good.
func (w *world) leave(j *modelJob) {
	w.must("close %d", j.link)
	delete(w.links, j.link)
	w.gone = append(w.gone, j.link)
	j.modelRole = modelRole{}
}

// giveBack gives slots of a job back. If its host continues with other slots, they are free at
// once, or when the host has ended lost tasks; otherwise when the host has ended, because it uses their memory. If the worker cannot run a
// host of the job, all other slots go back too.
func (w *world) giveBack(job ids.JobID, allocations ...ids.AllocationID) {
	given := 0
	for _, a := range allocations {
		if i := w.find(a); i >= 0 && w.slots[i].job == job && !w.slots[i].givenBack {
			w.slots[i].givenBack = true
			given++
		}
	}
	j := w.jobs[job]
	if given > 0 && j.unavailable != "" {
		for _, i := range w.held(job) {
			w.slots[i].givenBack = true
		}
	}
	switch {
	case given == 0:
	case j.host == nil || len(w.held(job)) > 0 && !j.host.stopping && !j.host.resetting:
		w.free(job)
	case len(w.held(job)) == 0:
		w.stop(j.host)
	}
}

// free frees the slots that a job has given back, and removes a job without slots and partitions. If it has partitions, only its
// program and its files go.
func (w *world) free(job ids.JobID) {
	var freed []int
	for i, s := range w.slots {
		if s.job == job && s.givenBack {
			freed = append(freed, i)
		}
	}
	if l := w.links[w.rm.link]; len(freed) > 0 && l != nil && l.admitted {
		w.must("to %d: free %v", w.rm.link, w.offers(freed))
	} else if len(freed) > 0 && l != nil && l.open {
		l.outdated = true
	}
	for _, i := range freed {
		w.slots[i] = modelSlot{}
	}
	if len(w.held(job)) > 0 {
		return
	}
	j := w.jobs[job]
	if len(w.partitionsOf(job)) == 0 {
		if j.link != 0 {
			w.leave(j)
		}
		delete(w.jobs, job)
		w.forget(job)
	}
	w.unneed(j)
	j.unavailable, j.early, j.brief, j.pause = "", 0, 0, ""
}

func (w *world) hostSays(h *modelHost, m msg.Message) {
	j := w.jobs[h.job]
	switch m := m.(type) {
	case msg.HostHello:
		if m.ProtocolVersion != hostProtocol {
			h.hopeless, h.blamed = true, true
			w.kill(h)
			return
		}
		h.greeted = true
	case msg.HostReady:
		if !h.instructed || h.stopping || h.resetting && m.Host != h.as {
			return
		}
		if h.ready.IsZero() {
			h.ready, h.modelWatch, j.early = w.now, w.beats(), 0
		}
		if h.resetting {
			h.resetting, h.deployed = false, nil
			w.free(h.job)
		}
		w.hostTakes(h)
	case msg.HostLost:
		if !h.blamed {
			h.blamed, h.hopeless = true, m.Failure.Permanent
		}
	case msg.TaskStatesChanged:
		if !w.tasksEnd(h, m) {
			return
		}
		if h.takes { // otherwise it is about tasks of a lost JobMaster
			w.tell(j, "state")
		}
	}
}

// hostTakes requires that a JobMaster is told of a host that can take its tasks, once.
func (w *world) hostTakes(h *modelHost) {
	if h == nil || h.ready.IsZero() || h.resetting || h.stopping || h.blamed || h.takes || !w.admitted(w.jobs[h.job].link) {
		return
	}
	h.takes = true
	w.tell(w.jobs[h.job], "host %s is ready", shortHost(h.as))
}

// hostEnds handles that a host has ended. If hosts end before they are ready, a second one starts
// and no third. After a host that was ready for less than 10 s another one starts at once, the next
// ones after pauses from 100 ms that double up to 5 s.
func (w *world) hostEnds(h *modelHost) {
	j := w.jobs[h.job]
	delete(w.hosts, h.id)
	j.host = nil
	w.tidies(h.id)
	if len(w.held(h.job)) > 0 && !h.stopping {
		if h.ready.IsZero() {
			j.early++
		}
		switch {
		case h.hopeless:
			j.unavailable = "lost for good"
		case h.ready.IsZero() && j.early >= 2:
			j.unavailable = "no other than " + shortHost(h.as)
		}
		if j.unavailable != "" {
			w.tell(j, "%s", j.unavailable)
		} else {
			w.tell(j, "lost %s", shortHost(h.as))
			if !h.ready.IsZero() && w.now.Sub(h.ready) >= 10*time.Second {
				j.brief = 0
			} else if j.brief++; j.brief > 1 {
				j.pause = h.id
				pauses := []int{100, 200, 400, 800, 1600, 3200, 5000} // ms
				w.must("pause of %s is %v", h.job, time.Duration(pauses[min(j.brief-2, 6)])*time.Millisecond)
			}
		}
	}
	w.free(h.job)
}

// need gives the program of a new job, and requires a fetch unless the program is here.
func (w *world) need(sha256 string) *modelProgram {
	if sha256 == localSHA256 {
		return &modelProgram{sha256: sha256, file: localFile}
	}
	p := w.programs[sha256]
	if p == nil {
		p = &modelProgram{sha256: sha256}
		w.programs[sha256] = p
	}
	if slices.Contains(programs[:], sha256) {
		w.fetch(p)
	}
	w.idle = slices.DeleteFunc(w.idle, func(other *modelProgram) bool { return other == p })
	return p
}

// fetch requires the fetch of a program or a file, once.
func (w *world) fetch(p *modelProgram) {
	if !p.begun {
		p.begun = true
		w.must("fetch %s", p.sha256)
	}
}

// fetches notes that a fetch begins.
func (w *world) fetches(id copyID, p *modelProgram) {
	w.lastCopy, w.copies[id], p.tokens = id, p, w.newest
}

// needFiles requires fetches of a job's files that are not here.
func (w *world) needFiles(job ids.JobID, j *modelJob) {
	j.files = nil
	for _, f := range specOf(job).Files {
		j.files = append(j.files, w.need(f.URI))
	}
	w.fetchSome(j)
}

// fetchFiles requires the next fetches of the jobs that use a file which has arrived.
func (w *world) fetchFiles(arrived *modelProgram) {
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		if j := w.jobs[id]; j.uses(arrived) && j.unavailable == "" {
			w.fetchSome(j)
		}
	}
}

// fetchSome requires that 4 files are fetched at a time, of which each job has its share, and at least one.
func (w *world) fetchSome(j *modelJob) {
	most, under := max(4/len(w.jobs), 1), 0
	for _, f := range j.files {
		if f.begun && f.file == "" {
			under++
		}
	}
	for _, f := range j.files {
		if !f.begun && under < most {
			w.fetch(f)
			under++
		}
	}
}

// uses tells whether a job needs a program or a file.
func (j *modelJob) uses(p *modelProgram) bool { return j.program == p || slices.Contains(j.files, p) }

// fetchFails handles a failed fetch. It is tried a second time; then its jobs cannot run here. They fail
// if no worker can fetch it. Without a valid token the next try comes with new tokens or after a minute, ten times.
func (w *world) fetchFails(e fetchFailed) {
	p, permanent := w.copies[e.Copy], e.Permanent
	if p == nil || p.file != "" || p.refused {
		return
	}
	if e.NeedsTokens {
		if w.admitted(w.rm.link) {
			p.refusals++
		}
		if permanent = p.refusals > 10; !permanent {
			if p.refused = p.tokens == w.newest; !p.refused {
				w.refetch(e.Copy)
			}
			return
		}
	}
	delete(w.copies, e.Copy)
	if p.failures++; p.failures < 2 && !permanent {
		w.must("fetch %s", p.sha256)
		return
	}
	delete(w.programs, p.sha256)
	for _, j := range w.jobs {
		if j.uses(p) && j.unavailable == "" {
			if j.unavailable = "no other than " + shortHost(""); permanent {
				j.unavailable = "lost for good"
			}
			w.tell(j, "%s", j.unavailable)
			if j.host != nil { // it waits for its job
				w.stop(j.host)
			}
		}
	}
}

// refetch requires another fetch in place of one that had no valid token.
func (w *world) refetch(id copyID) {
	p := w.copies[id]
	delete(w.copies, id)
	p.refused = false
	w.must("fetch %s", p.sha256)
}

// unneed handles that a job is gone. Of the programs that no job needs, the last four are kept, at
// most 256 MB. A program that cannot be fetched, or cannot run, is not kept.
// A file goes with its last job.
func (w *world) unneed(gone *modelJob) {
	p, files := gone.program, gone.files
	gone.program, gone.files = nil, nil
	for _, f := range files {
		if w.programs[f.sha256] == f && !w.used(f) {
			w.drop(f)
		}
	}
	if p == nil {
		return
	}
	if w.programs[p.sha256] != p || w.used(p) {
		return
	}
	if p.file == "" || gone.unavailable != "" || p.size > 256<<20 {
		w.drop(p)
		return
	}
	w.idle = append(w.idle, p)
	for {
		var size config.Bytes
		for _, p := range w.idle {
			size += p.size
		}
		if len(w.idle) <= 4 && size <= 256<<20 {
			return
		}
		w.drop(w.idle[0])
		w.idle = w.idle[1:]
	}
}

func (w *world) used(p *modelProgram) bool {
	for _, j := range w.jobs {
		if j.uses(p) {
			return true
		}
	}
	return false
}

func (w *world) drop(p *modelProgram) {
	delete(w.programs, p.sha256)
	for id, other := range w.copies {
		if other == p {
			w.must("drop %d", id)
		}
	}
}

// ends handles that the TaskExecutor must end: its hosts end first.
func (w *world) ends() {
	w.ending = true
	for _, p := range w.programs {
		if p.file == "" {
			w.drop(p)
		}
	}
	for _, h := range w.hosts {
		w.stop(h)
	}
}

// excused tells whether the timer of a term fires a second late: the worker itself was stopped, and
// the term starts again, once.
func (w *world) excused(timer timer) bool {
	switch timer.Kind {
	case timerRegistration, timerAdmission, timerSlot, timerPartitions, timerHostReady, timerHostStop, timerHostReset:
		if w.late < time.Second || w.excuses[timer] {
			return false
		}
		w.excuses[timer], w.begins = true, timer
		return true
	default:
		return false
	}
}

// timerFires updates the account by one timer of the core.
func (w *world) timerFires(timer timer) {
	if w.excused(timer) {
		return
	}
	l, h := w.links[timer.Link], w.hosts[timer.Host]
	if w.ending {
		if h != nil && timer.Kind == timerHostStop {
			w.kill(h)
		}
		return
	}
	switch timer.Kind {
	case timerReconnect:
		j := w.jobs[timer.Job]
		if timer.Job == "" && w.rm.lost == timer.Link || j != nil && j.lost == timer.Link && w.needed(timer.Job) && w.admitted(w.rm.link) {
			w.opens(timer.Job)
		}
	case timerFind:
		if w.leader.seeking = false; !w.admitted(w.rm.link) {
			w.leader.finding = true
			w.must("find the leader")
		}
	case timerAdmission:
		if l != nil && !l.admitted {
			w.giveUp(timer.Link)
		}
	case timerHeartbeat:
		switch {
		case l == nil:
		case l.lost(w.now):
			w.giveUp(timer.Link)
		case l.job == "":
			w.must("to %d: report %s", timer.Link, w.report())
		default:
			w.must("to %d: heartbeat", timer.Link)
		}
	case timerRegistration:
		if !w.admitted(w.rm.link) && w.now.Sub(w.rmDown) >= w.leader.patience() {
			w.ends()
		}
	case timerSlot:
		i := w.find(timer.Allocation)
		if i < 0 || w.slots[i].accepted || w.slots[i].givenBack {
			return
		}
		s, link := w.slots[i], w.jobs[w.slots[i].job].link
		if w.admitted(link) && !w.links[link].heard.After(s.offered) || !w.admitted(link) && !w.admitted(w.rm.link) {
			return // check verifies that the timer is set again: the JobMaster is silent, or the master is gone
		}
		if since := w.jobs[s.job].unready; !w.admitted(link) && !since.IsZero() && w.now.Sub(since) < 5*time.Minute {
			return
		}
		w.giveBack(w.slots[i].job, timer.Allocation)
	case timerPartitions:
		w.partitionsLate(timer.Job)
	case timerHostReady:
		if h != nil && !h.stopping && !h.blamed && h.ready.IsZero() && (h.instructed || !h.greeted) {
			h.blamed = true
			w.kill(h)
		}
	case timerHostHeartbeat:
		switch {
		case h == nil || h.stopping || h.blamed:
		case h.lost(w.now):
			h.blamed = true
			w.kill(h)
		default:
			w.must("host %s: heartbeat", shortHost(h.id))
		}
	case timerHostStop:
		if h != nil {
			w.kill(h)
		}
	case timerHostReset: // whatever task.cancellation.timeout says
		if h != nil && h.resetting && !h.stopping && !h.blamed {
			h.stopping = true
			w.kill(h)
		}
	case timerFetch:
		if p := w.copies[timer.Copy]; p != nil && p.refused {
			w.refetch(timer.Copy)
		}
	case timerHostStart:
		if j := w.jobs[timer.Job]; j != nil && j.pause == timer.Host {
			j.pause = ""
		}
	}
}

// expected requires the hosts that must be started and instructed now: their slots, program and
// JobMaster are there.
func (w *world) expected() {
	for id, j := range w.jobs {
		away := j.failures > 0 && !w.admitted(j.link)
		if j.host == nil && j.pause == "" && j.unavailable == "" && len(w.held(id)) > 0 && j.program.file != "" && !away {
			w.must("start %s of %s with %d MB", j.program.file, id, w.memoryMB(id))
		}
	}
	for _, h := range w.hosts {
		if j := w.jobs[h.job]; h.greeted && !h.instructed && !h.stopping && w.admitted(j.link) {
			paths := make(map[string]string)
			for i, f := range j.files {
				if f.file != "" {
					paths[specOf(h.job).Files[i].Name] = f.file
				}
			}
			if len(paths) == len(j.files) {
				w.must("instruct %s for %s of %d tasks with %q, %v and %d MB", shortHost(h.id), specOf(h.job).Name, j.tasks, w.newest, paths, w.memoryMB(h.job))
			}
		}
	}
}

// specOf is a job of these tests. Jobs share files under different names.
func specOf(job ids.JobID) msg.JobSpec {
	var files []jobgraph.CachedFile
	for uri := range strings.FieldsSeq(map[ids.JobID]string{"j2": "u1", "j3": "u1 u2 u3 u4 u5 u6", "j4": "u2 u5 u7"}[job]) {
		files = append(files, jobgraph.CachedFile{Name: uri + " of " + string(job), URI: uri})
	}
	return msg.JobSpec{ID: job, Name: "name of " + string(job), Files: files}
}

// compare checks that a step has exactly the required effects. After the decision to end, it checks
// only the forbidden effects.
func (w *world) compare(m moment) {
	sort.Strings(w.want)
	sort.Strings(w.got)
	if !w.ending && !slices.Equal(w.want, w.got) {
		w.t.Fatalf("%s\nmust do %q\nand does %q", m, w.want, w.got)
	}
	for _, want := range w.want {
		if w.ending && !slices.Contains(w.got, want) {
			w.t.Fatalf("it ends: %s\nmust do %q\nand does %q", m, w.want, w.got)
		}
	}
	w.want, w.got = nil, nil
}
