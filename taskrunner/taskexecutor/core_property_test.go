package taskexecutor

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Programs of these tests, by SHA-256: localSHA256 came with the container, and nowhere has no URI.
const (
	localSHA256, localFile = "5a", "program"
	nowhere                = "77"
	hostProtocol           = jobgraph.ProtocolVersion
)

var programs = [...]string{localSHA256, "11", "22", "33", "44", "55", "66", nowhere}

// moment is one step.
type moment struct {
	at      time.Time
	event   event // nil: the core handles one timer that is due
	timer   timer
	effects []effect
	last    bool // no other timer is due
}

func (m moment) String() string {
	if m.event == nil {
		return fmt.Sprintf("timer %+v", m.timer)
	}
	return fmt.Sprintf("%T %+v", m.event, m.event)
}

// happen makes a core take the step.
func (m moment) happen(c *core) []effect {
	if m.event != nil {
		return c.Step(m.at, m.event)
	}
	c.now, c.effects = m.at, nil
	c.timers.Cancel(m.timer)
	c.timerDue(m.timer)
	return c.effects
}

// step takes an event; nil: it has happened.
func (w *world) step(event event) {
	if event != nil {
		w.begins = timer{}
		w.happens(event)
		w.take(moment{at: w.now, event: event})
	}
}

// fire makes the core handle the timers that are due: the first one, or all of them. It tells
// whether there are any.
func (w *world) fire(all bool) (some bool) {
	for w.isDue() && (all || !some) {
		next := w.timers[0]
		w.late, w.begins = w.now.Sub(next.at), timer{}
		w.timerFires(next.timer)
		w.take(moment{at: w.now, timer: next.timer})
		some = true
	}
	return some
}

// isDue tells whether a timer is due.
func (w *world) isDue() bool { return len(w.timers) > 0 && !w.timers[0].at.After(w.now) }

// take makes the core take a step that the account already has.
func (w *world) take(m moment) {
	m.effects = m.happen(w.core)
	if !w.ending {
		w.expected()
	}
	for _, effect := range m.effects {
		if w.end != nil {
			w.t.Fatalf("%s after the end", show(effect))
		}
		w.perform(effect)
	}
	for _, d := range setSince(w.timers, w.core) {
		w.setTimer(d)
	}
	w.timers = timers(w.core)
	m.last = !w.isDue()
	w.history = append(w.history, m)
	w.compare(m)
	w.check()
}

// perform performs the effects of the core.
func (w *world) perform(effect effect) {
	switch e := effect.(type) {
	case openLink:
		w.does("open to %q at %s", e.Job, e.Address)
		if w.ending || w.links[e.Link] != nil || slices.Contains(w.gone, e.Link) {
			w.t.Fatalf("%s again", show(effect))
		}
		w.links[e.Link] = &modelLink{job: e.Job}
		if j := w.jobs[e.Job]; j != nil {
			j.link, j.lost = e.Link, 0
		} else {
			w.rm.link, w.rm.lost = e.Link, 0
		}
	case findLeader:
		w.does("find the leader")
		if w.ending {
			w.t.Fatalf("%s, and it ends", show(effect))
		}
	case sendRole:
		w.send(e)
	case setToken:
		w.does("token of %d is %s", e.Link, e.Token)
	case closeLink:
		w.does("close %d", e.Link)
		delete(w.links, e.Link) // unless it is known already
	case fetchProgram:
		if w.ending {
			w.t.Fatalf("%s, and it ends", show(effect))
		}
		w.does("fetch %s", e.Program.SHA256)
		w.fetches(e.Copy, w.programs[e.Program.SHA256])
	case fetchFile:
		if w.ending || e.File.Name != "" {
			w.t.Fatalf("%s, and it ends, or the file has a name of one job", show(effect))
		}
		w.does("fetch %s", e.File.URI)
		w.fetches(e.Copy, w.programs[e.File.URI])
	case dropCopy:
		w.does("drop %d", e.Copy)
		for id, h := range w.hosts {
			if p := w.copies[e.Copy]; p == nil || h.program == p.file || h.instructed && w.jobs[h.job].uses(p) {
				w.t.Fatalf("%s, which is not there, or which host %s runs", show(effect), shortHost(id))
			}
		}
		delete(w.copies, e.Copy)
	case updateTokens:
		w.does("tokens %s", string(e.Tokens))
	case startHost:
		w.does("start %s of %s with %d MB", e.Program, e.Job, e.Memory.Limit()>>20)
		if w.ending {
			w.t.Fatalf("%s, and it ends", show(effect))
		}
		w.named(e.Host)
		h := &modelHost{id: e.Host, as: e.Host, job: e.Job, program: e.Program, watched: int(e.Memory.Limit() >> 20)}
		w.hosts[e.Host] = h
		if j := w.jobs[e.Job]; j != nil {
			j.host = h
		}
	case instructHost:
		paths := maps.Clone(e.Files)
		if paths == nil {
			paths = make(map[string]string)
		}
		w.does("instruct %s for %s of %d tasks with %q, %v and %d MB", shortHost(e.Host), e.Job.Name, e.Share, string(e.Tokens), paths, e.Memory.Limit()>>20)
		if h := w.hosts[e.Host]; h != nil {
			h.instructed, h.tokens, h.told, h.tasks = true, string(e.Tokens), int(e.Memory.Limit()>>20), e.Share
		}
	case sendHost:
		w.sendHost(e)
	case servePartitions:
		for _, f := range e.Files {
			w.does("serve %s of %s from %s on disk %d", f.Partition, e.Job, shortHost(f.Host), f.Disk)
		}
	case removePartitions:
		for _, f := range e.Files {
			w.does("remove %s of %s from %s on disk %d", f.Partition, e.Job, shortHost(f.Host), f.Disk)
		}
	case tidyPartitions:
		w.does("tidy after %s, keep %v", shortHost(e.Host), e.Keep)
	case setHostMemory:
		w.hosts[e.Host].watched = int(e.Memory.Limit() >> 20)
	case killHost:
		w.does("kill %s", shortHost(e.Host))
	case end:
		w.end = &e
	}
}

func (w *world) send(e sendRole) {
	if l := w.links[e.Link]; l == nil || !l.open {
		w.t.Fatalf("%s, which is not open", show(e))
	}
	var text string
	switch m := e.Message.(type) {
	case msg.RegisterTaskExecutor:
		text = fmt.Sprintf("register with %s, of %v", showReport(m.Slots, len(m.Jobs) > 0), m.Jobs)
	case msg.RegisterAtJobMaster:
		text = "register"
	case msg.SlotRequestsAnswered:
		var answer []string
		for _, o := range m.Taken {
			answer = append(answer, fmt.Sprintf("%d for %s, refused: false", o.Index, o.Allocation))
		}
		for _, r := range m.Refused {
			answer = append(answer, fmt.Sprintf("%d for %s, refused: %t", r.Index, r.Allocation, r.Reason != ""))
		}
		slices.Sort(answer)
		text = fmt.Sprintf("slots %v", answer)
	case msg.SlotsFreed:
		text = fmt.Sprintf("free %v", m.Slots)
	case msg.SlotReport:
		text = "report " + showReport(m.Slots, m.Partitions)
	case msg.HeldPartitions:
		text = w.informed(w.links[e.Link], m)
	case msg.OfferSlots:
		if !w.links[e.Link].informed {
			w.t.Fatalf("%s, and the JobMaster does not know what is here", show(e))
		}
		text = fmt.Sprintf("offer %v", m.Offers)
	case msg.HostReady:
		text = fmt.Sprintf("host %s is ready", shortHost(m.Host))
		w.links[e.Link].takes = m.Host
	case msg.HostLost:
		switch text = "lost " + shortHost(m.Host); {
		case m.Failure.Permanent:
			text = "lost for good"
		case m.Reason == msg.HostStopped:
			text = shortHost(m.Host) + " stops"
		case m.Reason == msg.HostUnavailable:
			text = "no other than " + shortHost(m.Host)
		case m.Reason == msg.HostFull: // the model never has so many partitions
			w.t.Fatalf("%s, and nothing fills the worker", show(e))
		}
		if w.links[e.Link].takes == m.Host {
			w.links[e.Link].takes = ""
		}
	case msg.TaskStatesChanged:
		text = "state"
	case msg.Heartbeat:
		text = "heartbeat"
	default:
		text = fmt.Sprintf("%T", m)
	}
	w.does("to %d: %s", e.Link, text)
}

func (w *world) sendHost(e sendHost) {
	h := w.hosts[e.Host]
	if h == nil {
		w.t.Fatalf("%s, which does not live", show(e))
	}
	switch m := e.Message.(type) {
	case msg.UpdateTokens:
		w.does("host %s: tokens %s", shortHost(e.Host), string(m.Tokens))
		h.tokens = string(m.Tokens)
	case msg.StopHost:
		w.does("host %s: stop", shortHost(e.Host))
	case msg.ResetHost:
		w.does("host %s: reset", shortHost(e.Host))
		w.named(m.Host)
		h.as = m.Host
	case msg.DeployTasks:
		w.does("host %s: deploy", shortHost(e.Host))
	case msg.SetMemory:
		h.told = int(m.Memory.Limit() >> 20)
	case msg.Heartbeat:
		w.does("host %s: heartbeat", shortHost(e.Host))
		h.asked = true
	default:
		w.does("host %s: %T", shortHost(e.Host), m)
	}
}

// named checks that a host gets an id that no host has had.
func (w *world) named(id ids.HostID) {
	if w.names[id] {
		w.t.Fatalf("a second host has the id %s", shortHost(id))
	}
	w.names[id] = true
}

// setTimer checks that timers have the times of docs/OPTIONS.md, or the fixed times of the core.
func (w *world) setTimer(d dated) {
	var want time.Duration
	after := d.at.Sub(w.now)
	switch d.timer.Kind {
	case timerReconnect: // cluster.registration.initial-timeout, max-timeout
		failures := w.rm.failures
		if j := w.jobs[d.timer.Job]; j != nil {
			failures = j.failures
		}
		pauses := []int{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000} // ms
		want = time.Duration(pauses[max(0, min(failures, 10)-1)]) * time.Millisecond
	case timerAdmission, timerHeartbeat, timerHostHeartbeat, timerSlot, timerPartitions: // heartbeat.interval as the roles say; taskmanager.slot.timeout
		want = 10 * time.Second
	case timerRegistration:
		want = w.leader.patience()
	case timerFind:
		if w.leader.pause(after) && !w.leader.finding {
			want = after
		}
	case timerFetch:
		want = time.Minute
	case timerHostReady:
		want = 2 * time.Minute
	case timerHostStop, timerHostReset:
		want = 5 * time.Second
	case timerHostStart:
		w.does("pause of %s is %v", d.timer.Job, after)
		want = after
	}
	if after != want && !w.ending {
		w.t.Fatalf("timer %+v is set to %v, want %v", d.timer, after, want)
	}
	if d.timer != w.begins {
		delete(w.excuses, d.timer)
	}
}

// check checks the invariants after each step: every wait has a timer, and every host knows its
// memory.
func (w *world) check() {
	if w.ending {
		w.checkEnd()
		return
	}
	waits := func(timer timer, why string) {
		if w.when(timer).IsZero() {
			w.t.Fatalf("no timer %+v: %s", timer, why)
		}
	}
	for id, l := range w.links {
		switch {
		case l.admitted:
			waits(timer{Kind: timerHeartbeat, Link: id}, "its heartbeats")
		case l.open:
			waits(timer{Kind: timerAdmission, Link: id}, "its registration is not answered")
		}
	}
	if w.rm.lost != 0 {
		waits(timer{Kind: timerReconnect, Link: w.rm.lost}, "the ResourceManager is lost")
	}
	w.checkLeader(waits)
	w.checkServed()
	if !w.admitted(w.rm.link) {
		if at := w.when(timer{Kind: timerRegistration}); at.Before(w.rmDown.Add(w.leader.patience())) {
			w.t.Fatalf("no ResourceManager since %v, and the timer is set to %v", w.rmDown, at)
		}
	}
	for id, j := range w.jobs {
		if len(w.partitionsOf(id)) > 0 && !w.admitted(j.link) {
			waits(timer{Kind: timerPartitions, Job: id}, "no JobMaster has taken the partitions")
		}
		if j.lost != 0 && w.needed(id) && w.admitted(w.rm.link) {
			waits(timer{Kind: timerReconnect, Link: j.lost, Job: id}, "the JobMaster is lost")
		}
		if j.pause != "" {
			waits(timer{Kind: timerHostStart, Job: id, Host: j.pause}, "a host has to follow")
		}
	}
	for _, s := range w.slots {
		if s.allocation != "" && !s.accepted && !s.givenBack {
			waits(timer{Kind: timerSlot, Allocation: s.allocation}, "a slot is not accepted")
		}
	}
	for id, p := range w.copies {
		if p.refused {
			waits(timer{Kind: timerFetch, Copy: id}, "a fetch had no valid token")
		}
	}
	for id, h := range w.hosts {
		w.checkHost(id, h, waits)
	}
}

// when gives the time of a timer; zero if it is not set.
func (w *world) when(timer timer) time.Time {
	if i := slices.IndexFunc(w.timers, func(d dated) bool { return d.timer == timer }); i >= 0 {
		return w.timers[i].at
	}
	return time.Time{}
}

func (w *world) checkHost(id ids.HostID, h *modelHost, waits func(timer, string)) {
	switch {
	case h.killed:
	case h.stopping || h.blamed:
		waits(timer{Kind: timerHostStop, Host: id}, "a host has to end")
	case h.ready.IsZero() && (h.instructed || !h.greeted):
		waits(timer{Kind: timerHostReady, Host: id}, "a host has to get ready")
	case !h.ready.IsZero() && !h.blamed:
		waits(timer{Kind: timerHostHeartbeat, Host: id}, "a host may be stopped")
		if h.resetting {
			waits(timer{Kind: timerHostReset, Host: id}, "lost tasks have to end")
		}
	}
	if h.stopping {
		return
	}
	if total := w.memoryMB(h.job); !h.resetting && (h.watched != total || h.instructed && h.told != total) { // lost tasks may use more
		w.t.Fatalf("host %s is watched for %d MB, was told %d MB, and has %d MB", shortHost(id), h.watched, h.told, total)
	}
	if h.instructed && h.tokens != w.newest {
		w.t.Fatalf("host %s has tokens %q, the newest are %q", shortHost(id), h.tokens, w.newest)
	}
}

// checkEnd checks that the worker ends with its last host, not before, and leaves no fetch and no
// link.
func (w *world) checkEnd() {
	if (w.end != nil) != (len(w.hosts) == 0) {
		w.t.Fatalf("it has ended: %t, and %d hosts live", w.end != nil, len(w.hosts))
	}
	for id, p := range w.copies {
		if p.file == "" {
			w.t.Fatalf("it ends and still fetches copy %d", id)
		}
	}
	if w.end != nil && len(w.links)+len(w.timers) > 0 {
		w.t.Fatalf("it has ended and left %d links and %d timers", len(w.links), len(w.timers))
	}
	for id, h := range w.hosts {
		if w.when(timer{Kind: timerHostStop, Host: id}).IsZero() && !h.killed {
			w.t.Fatalf("it waits for host %s for ever", shortHost(id))
		}
	}
}

// random draws an event that could come now, or a stale one. As often it draws one that makes
// progress; otherwise few jobs would run.
func (w *world) random() event {
	t := w.t
	if rapid.Bool().Draw(t, "goes on") {
		if event := w.progress(); event != nil {
			return event
		}
	}
	known := slices.Sorted(maps.Keys(w.links))
	if len(w.gone) > 0 && w.oneOf(8, "stale link") == 0 {
		known = w.gone
	}
	id := linkID(0)
	if len(known) > 0 {
		id = known[w.oneOf(len(known), "link")]
	}
	l := w.links[id]
	host := ids.HostID("none")
	if hosts := slices.Sorted(maps.Keys(w.hosts)); len(hosts) > 0 {
		host = hosts[w.oneOf(len(hosts), "host")]
	}
	allocation := ids.AllocationID(fmt.Sprintf("a%d", 1+w.oneOf(6, "allocation")))
	switch w.oneOf(26, "event") {
	case 0:
		return linkLost{Link: id, Cause: "reset", NotReady: l != nil && !l.open && l.job != "" && w.oneOf(2, "not ready") == 0}
	case 1:
		if l == nil || !l.open {
			return linkOpened{id}
		}
	case 2:
		if l == nil || l.job == "" || !l.open {
			break
		}
		return w.registered(l.job, id, w.jobMaster(w.jobs[l.job].master))
	case 3, 4:
		return w.requested(allocation)
	case 5, 6:
		return w.masterSays(id, msg.SlotOffersAnswered{Accepted: w.allocations(l, allocation)})
	case 7:
		return w.masterSays(id, msg.SlotOffersAnswered{Rejected: []ids.AllocationID{allocation, allocation}})
	case 8:
		return w.masterSays(id, msg.FreeSlots{Allocations: []ids.AllocationID{allocation}})
	case 9:
		return w.masterSays(id, msg.Disconnect{})
	case 10:
		return w.masterSays(id, w.deploys(host))
	case 24:
		return hostSaid{host, w.changes(host)}
	case 25:
		return w.masterSays(id, w.releases())
	case 11:
		return hostSaid{host, msg.HostHello{ProtocolVersion: hostProtocol + w.oneOf(8, "other SDK")/7}}
	case 12:
		return hostSaid{host, msg.HostReady{Host: w.nameOf(host)}}
	case 13:
		return hostSaid{host, w.changes(host)}
	case 14:
		return hostExited{Host: host, Exit: Exit{How: "exit status 2"}}
	case 15:
		if l := w.links[w.rm.link]; l != nil && l.open { // before the admission it may be an earlier leader
			return roleSaid{w.rm.link, msg.UpdateTokens{Tokens: msg.Secret(fmt.Sprintf("t%d", w.oneOf(3, "tokens")))}}
		}
	case 16:
		return w.fetched()
	case 17:
		if event := w.resourceManagerSays(); event != nil {
			return event
		}
	case 19:
		w.jobPasses()
	case 21:
		w.leaderChanges()
	case 22:
		if w.leader.finding {
			return w.found()
		}
	case 23:
		if w.rm.link != 0 && w.links[w.rm.link] != nil {
			return linkLost{Link: w.rm.link, Cause: "reset"}
		}
	case 20:
		return hostSaid{host, msg.HostLost{Failure: msg.Failure{Message: "plan", Permanent: w.oneOf(4, "permanent") == 0}}}
	case 18:
		if w.oneOf(4, "over memory") == 0 {
			return hostOverMemory{Host: host, Resident: config.Gibibyte}
		}
	}
	w.passes()
	return w.due()
}

// passes lets time pass until a timer is due. Sometimes the worker is stopped meanwhile.
func (w *world) passes() {
	until := w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(w.t, "seconds")) * time.Second)
	stopped := w.oneOf(4, "stopped") == 0
	switch {
	case stopped || len(w.timers) == 0 || w.timers[0].at.After(until):
		w.now = until
	case !w.isDue():
		w.now = w.timers[0].at
	}
}

// oneOf draws a number below n evenly; rapid prefers small numbers.
func (w *world) oneOf(n int, what string) int {
	number := 0
	for _, bit := range rapid.SliceOfN(rapid.Bool(), 6, 6).Draw(w.t, what) {
		number *= 2
		if bit {
			number++
		}
	}
	return number % n
}

// progress is the next event of a worker without faults, if there is one.
func (w *world) progress() event {
	for _, id := range slices.Sorted(maps.Keys(w.links)) {
		switch l := w.links[id]; {
		case !l.open:
			return linkOpened{id}
		case l.admitted:
		case l.job == "":
			return w.registeredEvent(id, w.leader.leads)
		default:
			if j := w.jobs[l.job]; j != nil {
				return w.registered(l.job, id, w.jobMaster(j.master))
			}
		}
	}
	for _, copied := range slices.Sorted(maps.Keys(w.copies)) {
		if w.copies[copied].file == "" {
			return w.fetched()
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.hosts)) {
		switch h := w.hosts[id]; {
		case h.stopping || h.killed:
		case !h.greeted:
			return hostSaid{id, msg.HostHello{ProtocolVersion: hostProtocol}}
		case h.instructed && (h.ready.IsZero() || h.resetting):
			return hostSaid{id, msg.HostReady{Host: h.as}}
		case h.asked:
			return hostSaid{id, msg.Heartbeat{}}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.links)) {
		l := w.links[id]
		for _, i := range w.held(l.job) {
			if l.admitted && !w.slots[i].accepted {
				return roleSaid{id, msg.SlotOffersAnswered{Accepted: w.allocations(l, w.slots[i].allocation)}}
			}
		}
	}
	return nil
}

// nameOf is the present id of a host, or an earlier one.
func (w *world) nameOf(host ids.HostID) ids.HostID {
	if h := w.hosts[host]; h != nil && w.oneOf(4, "earlier id") > 0 {
		return h.as
	}
	return host
}

// jobPasses lets a job come, get its program, and end. Otherwise there would seldom be many
// programs that no job needs.
func (w *world) jobPasses() {
	job, slot := ids.JobID("j4"), slices.IndexFunc(w.slots[:], func(s modelSlot) bool { return s.allocation == "" })
	if !w.admitted(w.rm.link) || slot < 0 || w.jobs[job] != nil || w.ending {
		return
	}
	allocation, master := ids.AllocationID(fmt.Sprintf("p%d", len(w.history))), ids.NewJobMasterID(w.leader.leads, "m")
	w.step(roleSaid{w.rm.link, msg.RequestSlots{
		Slots: []msg.SlotOffer{{Index: slot, Allocation: allocation}}, Job: job, JobMaster: master,
		Program: msg.Program{SHA256: programs[1+w.oneOf(6, "program")], URI: "u"}, Memory: testSlot,
	}})
	j := w.jobs[job]
	for _, id := range slices.Sorted(maps.Keys(w.copies)) {
		if p := w.copies[id]; p == j.program && p.file == "" {
			w.step(fetched{Copy: id, File: fmt.Sprintf("copy %d", id), Size: 13 * config.Mebibyte})
		}
	}
	w.step(linkOpened{j.link})
	w.step(w.registered(job, j.link, master))
	w.step(roleSaid{j.link, msg.FreeSlots{Allocations: []ids.AllocationID{allocation}}})
	if j.host != nil {
		w.step(hostExited{Host: j.host.id, Exit: Exit{How: "exit status 0"}})
	}
}

func (w *world) registered(job ids.JobID, link linkID, master ids.JobMasterID) event {
	tasks := 3
	if w.oneOf(8, "other settings") == 0 {
		tasks = 4
	}
	return roleSaid{link, msg.RegisteredAtJobMaster{JobMaster: master, Job: specOf(job), Tasks: tasks, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second}}
}

// requested is a slot request of a ResourceManager that has admitted the TaskExecutor; otherwise a
// timer fires. Each job has one or two programs.
func (w *world) requested(allocation ids.AllocationID) event {
	if l := w.links[w.rm.link]; l == nil || !l.open || !l.admitted && w.oneOf(4, "early") > 0 {
		return w.due()
	}
	sha256 := programs[w.oneOf(len(programs), "program")]
	m := msg.RequestSlots{
		Slots: []msg.SlotOffer{{Index: w.oneOf(5, "slot") - 1, Allocation: allocation}}, Job: ids.JobID(fmt.Sprintf("j%d", 1+w.oneOf(3, "job"))),
		JobMaster: w.jobMaster(ids.NewJobMasterID(w.leader.leads, "m")),
		Program:   msg.Program{SHA256: sha256, URI: "u"}, Memory: memory.Slot{Heap: 100 << 20 * config.Bytes(1+w.oneOf(3, "memory"))},
	}
	if sha256 == nowhere {
		m.Program.URI = ""
	}
	if w.oneOf(2, "several") == 0 {
		m.Slots = append(m.Slots, msg.SlotOffer{Index: w.oneOf(5, "another slot") - 1, Allocation: ids.AllocationID(fmt.Sprintf("a%d", 1+w.oneOf(6, "another allocation")))})
	}
	return roleSaid{w.rm.link, m}
}

// allocations gives the allocations that a job holds, or one that it may not hold.
func (w *world) allocations(l *modelLink, one ids.AllocationID) []ids.AllocationID {
	if l == nil || w.oneOf(8, "any") == 0 {
		return []ids.AllocationID{one}
	}
	var held []ids.AllocationID
	for _, i := range w.held(l.job) {
		held = append(held, w.slots[i].allocation)
	}
	return held
}

// masterSays is a message of a JobMaster that has admitted the TaskExecutor, or of one whose link
// is closed; otherwise a timer fires.
func (w *world) masterSays(id linkID, m msg.Message) event {
	if l := w.links[id]; l != nil && (l.job == "" || !l.admitted) {
		return w.due()
	}
	return roleSaid{id, m}
}

// fetched is the result of a fetch: of the first one that runs, or of one that was cancelled.
func (w *world) fetched() event {
	id := copyID(1 + w.oneOf(int(w.lastCopy)+1, "copy"))
	for _, awaited := range slices.Sorted(maps.Keys(w.copies)) {
		if p := w.copies[awaited]; p.file == "" && !p.refused {
			id = awaited
			break
		}
	}
	if p := w.copies[id]; p != nil && (p.file != "" || p.refused) {
		return w.due() // its fetch has ended before
	}
	if w.oneOf(4, "fetch fails") == 0 {
		return fetchFailed{Copy: id, Cause: "no such file", Permanent: w.oneOf(3, "permanent") == 0}
	}
	if w.oneOf(4, "no valid token") == 0 {
		return fetchFailed{Copy: id, Cause: "token expired", NeedsTokens: true}
	}
	size := []int{13, 13, 13, 60, 250, 300}[w.oneOf(6, "size")]
	return fetched{Copy: id, File: fmt.Sprintf("copy %d", id), Size: config.Bytes(size) * config.Mebibyte}
}

// due makes the core handle timers that are due, or gives a harmless event.
func (w *world) due() event {
	if w.fire(w.oneOf(2, "all timers") == 0) {
		return nil
	}
	return hostSaid{"none", msg.HostHello{}}
}

// TestCoreUnderRandomEvents would catch: a slot that is lost, granted twice or freed too early; a
// host that is left behind, started beside another or for another job, or left with old tokens; a
// report about tasks of a lost JobMaster; a message to no role or to the wrong one; a timer that is not set; a program that is fetched twice,
// awaited in vain, kept for ever, or removed while a host runs it; a finished partition that is not served, removed without need, or
// kept for no JobMaster.
func TestCoreUnderRandomEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.step(started{})
		for range 1 + 4*w.oneOf(64, "steps") {
			if w.end != nil {
				break
			}
			w.step(w.random())
		}
		w.calm()
		w.replay()
	})
}

// calm completes everything that was started, with a ResourceManager and without a JobMaster: slots time out, stopped
// hosts end, and then nothing may be left.
func (w *world) calm() {
	for range 2000 {
		for _, id := range slices.Sorted(maps.Keys(w.links)) {
			switch l := w.links[id]; {
			case l == nil:
			case l.job != "":
				w.step(linkLost{Link: id, Cause: "gone"})
			case !l.open:
				w.step(linkOpened{id})
			case !l.admitted:
				w.step(w.registeredEvent(id, w.leader.leads))
			}
		}
		for _, id := range slices.Sorted(maps.Keys(w.hosts)) {
			if h := w.hosts[id]; h != nil && (h.stopping || h.killed) {
				w.step(hostExited{Host: id, Exit: Exit{How: "exit status 0"}})
			}
		}
		if len(w.jobs) == 0 && len(w.hosts) == 0 || w.end != nil {
			if w.end == nil && len(w.files)+w.core.partitions+w.core.reports+w.core.spare > 0 {
				w.t.Fatalf("no job is left, and these partitions: %v", w.files)
			}
			return
		}
		if len(w.timers) > 0 && !w.isDue() {
			w.now = w.timers[0].at
		}
		w.fire(true)
	}
	w.t.Fatalf("%d jobs and %d hosts are left: %+v", len(w.jobs), len(w.hosts), w.slots)
}

// replay sends a second core the same events at the same times. It wakes it where the first core
// handled the due timers one by one, and the effects must be the same.
func (w *world) replay() {
	second := newWorld(w.t).core
	for rest := w.history; len(rest) > 0; {
		m, n := rest[0], 1
		if together := timersAtOnce(rest); together > 0 {
			m.event, n = woken{}, together
			for _, other := range rest[1:together] {
				m.effects = append(slices.Clip(m.effects), other.effects...)
			}
		}
		if diff := cmp.Diff(m.effects, m.happen(second)); diff != "" {
			w.t.Fatalf("replayed step %d, %s, differs (-first +second):\n%s", len(w.history)-len(rest), m, diff)
		}
		rest = rest[n:]
	}
}

// timersAtOnce is the number of timers handled one after the other, up to the last one that was
// due; 0: others were left.
func timersAtOnce(moments []moment) int {
	for i, m := range moments {
		switch {
		case m.event != nil || !m.at.Equal(moments[0].at):
			return 0
		case m.last:
			return i + 1
		}
	}
	return 0
}
