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
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// world is all that surrounds a core, as simply as can be said: which streams
// are open, which hosts live, what the ResourceManager believes.
type world struct {
	t       *rapid.T
	core    *Core
	now     time.Time
	links   map[LinkID]ids.JobID // asked for or open
	open    map[LinkID]bool
	hosts   map[ids.HostID]ids.JobID
	told    map[ids.HostID]bool   // instructed
	dying   map[ids.HostID]bool   // asked or made to end
	files   map[ids.HostID]string // that it runs
	tokens  map[ids.HostID]string // as the host was told last
	newest  string                // that the ResourceManager has sent
	copies  map[CopyID]*copied    // of programs: being fetched, or here
	timers  map[Timer]time.Time
	history []Event
	times   []time.Time
	effects [][]Effect
	end     *End
}

// copied is a program that the core has asked for and not dropped.
type copied struct {
	sha256 string
	file   string // "" while it is being fetched
	size   config.Bytes
}

func newWorld(t *rapid.T, slots int) *world {
	core, err := NewCore(testConfig(slots))
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, core: core, now: testEpoch,
		links: make(map[LinkID]ids.JobID), open: make(map[LinkID]bool),
		hosts: make(map[ids.HostID]ids.JobID), told: make(map[ids.HostID]bool), dying: make(map[ids.HostID]bool),
		files:  make(map[ids.HostID]string),
		tokens: make(map[ids.HostID]string),
		copies: make(map[CopyID]*copied),
		timers: make(map[Timer]time.Time),
	}
}

func (w *world) step(event Event) {
	if exited, is := event.(HostExited); is {
		delete(w.hosts, exited.Host)
	}
	if lost, is := event.(LinkLost); is {
		delete(w.links, lost.Link)
		delete(w.open, lost.Link)
	}
	if opened, is := event.(LinkOpened); is {
		w.open[opened.Link] = true
	}
	if fetched, is := event.(ProgramFetched); is && w.copies[fetched.Copy] != nil {
		w.copies[fetched.Copy].file, w.copies[fetched.Copy].size = fetched.File, fetched.Size
	}
	if failed, is := event.(ProgramFailed); is {
		delete(w.copies, failed.Copy)
	}
	effects := w.core.Step(w.now, event)
	w.history, w.times, w.effects = append(w.history, event), append(w.times, w.now), append(w.effects, effects)
	for _, effect := range effects {
		w.perform(effect)
	}
	w.check()
}

func (w *world) perform(effect Effect) {
	if w.end != nil {
		w.t.Fatalf("%s after the end", show(effect))
	}
	usesLink := func(id LinkID) {
		if !w.open[id] {
			w.t.Fatalf("%s, which is not open", show(effect))
		}
	}
	usesHost := func(id ids.HostID) {
		if _, lives := w.hosts[id]; !lives {
			w.t.Fatalf("%s, which does not live", show(effect))
		}
	}
	switch e := effect.(type) {
	case OpenLink:
		for id, job := range w.links {
			if job == e.Job {
				w.t.Fatalf("%s beside link %d", show(effect), id)
			}
		}
		w.links[e.Link] = e.Job
	case SendRole:
		usesLink(e.Link)
	case SetToken:
		usesLink(e.Link)
	case CloseLink:
		delete(w.links, e.Link)
		delete(w.open, e.Link)
	case FetchProgram:
		for id, c := range w.copies {
			if id == e.Copy || c.sha256 == e.Program.SHA256 {
				w.t.Fatalf("%s beside copy %d of %s", show(effect), id, c.sha256)
			}
		}
		if string(e.Tokens) != w.newest {
			w.t.Fatalf("%s, the newest tokens are %q", show(effect), w.newest)
		}
		w.copies[e.Copy] = &copied{sha256: e.Program.SHA256}
	case DropProgram:
		c := w.copies[e.Copy]
		if c == nil {
			w.t.Fatalf("%s, which is not there", show(effect))
		}
		for id := range w.hosts {
			if w.files[id] == c.file {
				w.t.Fatalf("%s, which host %s runs", show(effect), shortHost(id))
			}
		}
		delete(w.copies, e.Copy)
	case StartHost:
		w.startsFrom(e)
		for id, job := range w.hosts {
			if job == e.Job {
				w.t.Fatalf("%s beside %s", show(effect), shortHost(id))
			}
		}
		w.hosts[e.Host], w.files[e.Host] = e.Job, e.Program
	case InstructHost:
		usesHost(e.Host)
		if w.told[e.Host] {
			w.t.Fatalf("%s again", show(effect))
		}
		w.told[e.Host] = true
		w.tokens[e.Host] = string(e.Tokens)
	case SendHost:
		usesHost(e.Host)
		if m, is := e.Message.(msg.UpdateTokens); is {
			if !w.told[e.Host] || w.tokens[e.Host] == string(m.Tokens) {
				w.t.Fatalf("%s, which is not instructed, or has them", show(effect))
			}
			w.tokens[e.Host] = string(m.Tokens)
		}
		if _, stop := e.Message.(msg.StopHost); stop {
			w.dying[e.Host] = true
		}
	case SetHostMemory:
		usesHost(e.Host)
	case KillHost:
		usesHost(e.Host)
		w.dying[e.Host] = true
	case SetTimer:
		w.timers[e.Timer] = w.now.Add(e.After)
	case End:
		w.end = &e
		if len(w.hosts) > 0 {
			w.t.Fatalf("it ends and leaves %d hosts", len(w.hosts))
		}
		for id, c := range w.copies {
			if c.file == "" {
				w.t.Fatalf("it ends and still fetches copy %d", id)
			}
		}
	}
}

// startsFrom holds that a host is made of its job's program, and of all of it.
func (w *world) startsFrom(e StartHost) {
	want := w.core.jobs[e.Job].program.ref.SHA256
	if e.Program == "program" && want == "5a" {
		return
	}
	for _, c := range w.copies {
		if c.sha256 == want && c.file == e.Program && c.file != "" {
			return
		}
	}
	w.t.Fatalf("%s, which is not program %s", show(e), want)
}

// checkPrograms holds that no job waits for a program that nobody fetches, that
// nothing is fetched for nobody, and that the rest is bounded.
func (w *world) checkPrograms() {
	needed := make(map[string]bool)
	here := map[string]bool{"5a": true}
	for _, c := range w.copies {
		here[c.sha256] = true
	}
	for id, j := range w.core.jobs {
		needed[j.program.ref.SHA256] = true
		if !here[j.program.ref.SHA256] && j.unbuildable == nil && w.core.ending == nil {
			w.t.Fatalf("job %s waits for program %s, which nobody fetches", id, j.program.ref.SHA256)
		}
	}
	idle, size := 0, config.Bytes(0)
	for id, c := range w.copies {
		switch {
		case needed[c.sha256]:
		case c.file == "":
			w.t.Fatalf("program %s is fetched as copy %d, and no job is there that needs it", c.sha256, id)
		default:
			idle, size = idle+1, size+c.size
		}
	}
	if idle > maxIdlePrograms || size > maxIdleBytes {
		w.t.Fatalf("%d programs of %s are kept that no job needs", idle, size)
	}
}

// check holds what must be true at any time.
func (w *world) check() {
	if w.end == nil {
		w.checkPrograms()
	}
	seen := make(map[ids.AllocationID]bool)
	perJob := make(map[ids.JobID]bool)
	for _, s := range w.core.slots.report() {
		if (s.Allocation == "") != (s.Job == "") {
			w.t.Fatalf("half a slot: %+v", s)
		}
		if s.Allocation != "" && seen[s.Allocation] {
			w.t.Fatalf("allocation %s is in two slots", s.Allocation)
		}
		seen[s.Allocation], perJob[s.Job] = true, true
	}
	for id, job := range w.hosts {
		if !perJob[job] && w.end == nil {
			w.t.Fatalf("host %s lives for job %s, which has no slot here", shortHost(id), job)
		}
		if w.told[id] && !w.dying[id] && w.tokens[id] != w.newest {
			w.t.Fatalf("host %s has tokens %q, the newest are %q", shortHost(id), w.tokens[id], w.newest)
		}
	}
}

// programs that jobs have: one that is here, some to fetch, and one that nobody
// says where to find.
var programs = [...]msg.Program{
	{SHA256: "5a"},
	{SHA256: "11", URI: "u"},
	{SHA256: "22", URI: "u"},
	{SHA256: "33", URI: "u"},
	{SHA256: "44", URI: "u"},
	{SHA256: "55", URI: "u"},
	{SHA256: "66", URI: "u"},
	{SHA256: "77"},
}

// random draws an event that could come now.
func (w *world) random() Event {
	t := w.t
	link := LinkID(0)
	if len(w.links) > 0 {
		link = rapid.SampledFrom(slices.Sorted(maps.Keys(w.links))).Draw(t, "link")
	}
	host := ids.HostID("none")
	if len(w.hosts) > 0 {
		host = rapid.SampledFrom(slices.Sorted(maps.Keys(w.hosts))).Draw(t, "host")
	}
	job := ids.JobID(fmt.Sprintf("j%d", rapid.IntRange(1, 3).Draw(t, "job")))
	allocation := ids.AllocationID(fmt.Sprintf("a%d", rapid.IntRange(1, 6).Draw(t, "allocation")))
	master := ids.JobMasterID(rapid.SampledFrom([]string{"m1", "m1", "m1", "m2"}).Draw(t, "master"))
	id := CopyID(rapid.IntRange(1, int(w.core.lastCopy)+1).Draw(t, "copy"))
	if fetching := slices.Sorted(maps.Keys(w.core.fetching)); len(fetching) > 0 && rapid.Bool().Draw(t, "awaited") {
		id = fetching[0]
	}
	says := func(m msg.Message) Event { return RoleSaid{link, m} }
	switch rapid.IntRange(0, 23).Draw(t, "event") {
	case 0, 1:
		if w.open[link] {
			return LinkLost{link, "reset"}
		}
		return LinkOpened{link}
	case 2, 3:
		if w.open[link] && w.links[link] == "" {
			return says(msg.TaskExecutorRegistered{ResourceManager: "r1", HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
		}
		return says(msg.RegisteredAtJobMaster{JobMaster: master, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
	case 4, 5, 6:
		return RoleSaid{w.core.rm.id, msg.RequestSlot{
			Index: rapid.IntRange(-1, 3).Draw(t, "slot"), Allocation: allocation, Job: job, JobMaster: master,
			Program: programs[rapid.SampledFrom([]int{0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7}).Draw(t, "program")], MemoryMB: 100,
		}}
	case 7:
		return says(msg.SlotOffersAnswered{Accepted: []ids.AllocationID{allocation}})
	case 8:
		return says(msg.SlotOffersAnswered{Rejected: []ids.AllocationID{allocation, allocation}})
	case 9:
		return says(msg.FreeSlots{Allocations: []ids.AllocationID{allocation}})
	case 10:
		return says(msg.Disconnect{})
	case 11:
		return says(msg.DeployTasks{Host: host})
	case 12:
		return HostSaid{host, msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}}
	case 13:
		return HostSaid{host, msg.HostReady{Host: host}}
	case 14:
		return HostSaid{host, msg.TaskStateChanged{}}
	case 15:
		return HostOverMemory{Host: host, Resident: config.Gibibyte}
	case 16:
		return HostExited{Host: host, Exit: Exit{How: "exit status 2"}}
	case 17:
		if w.core.rm.state != linkAdmitted {
			return RoleSaid{w.core.rm.id, msg.UpdateTokens{Tokens: msg.Secret("stale")}}
		}
		w.newest = fmt.Sprintf("t%d", rapid.IntRange(1, 3).Draw(t, "tokens"))
		return RoleSaid{w.core.rm.id, msg.UpdateTokens{Tokens: msg.Secret(w.newest)}}
	case 18, 19:
		if c := w.copies[id]; c != nil && c.file != "" {
			break // it was fetched before
		}
		return ProgramFetched{Copy: id, File: fmt.Sprintf("copy %d", id), Size: config.Bytes(rapid.SampledFrom([]int{13, 100, 250, 300}).Draw(t, "size")) * config.Mebibyte}
	case 20:
		if c := w.copies[id]; c != nil && c.file != "" {
			break
		}
		return ProgramFailed{Copy: id, Cause: "no such file"}
	case 21:
		if rapid.IntRange(0, 9).Draw(t, "release") == 0 {
			return RoleSaid{w.core.rm.id, msg.ReleaseTaskExecutor{Cause: "idle"}}
		}
	}
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
	return w.due()
}

// due gives a timer whose time has come, or something harmless.
func (w *world) due() Event {
	var next *Timer
	for timer, at := range w.timers {
		if !at.After(w.now) && (next == nil || at.Before(w.timers[*next]) || at.Equal(w.timers[*next]) && fmt.Sprint(timer) < fmt.Sprint(*next)) {
			next = &timer
		}
	}
	if next == nil {
		return HostSaid{"none", msg.HostHello{}}
	}
	delete(w.timers, *next)
	return TimerFired{*next}
}

// TestCoreUnderRandomEvents would catch a slot that is lost or granted twice, a
// host that is left behind, started beside another or left with old tokens, a
// message to nobody, and a program that is fetched twice, waited for in vain, kept
// for ever, or dropped under a host that runs it.
func TestCoreUnderRandomEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, 3)
		w.step(Started{})
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			w.step(w.random())
		}
		w.calm()
		w.replay()
	})
}

// calm lets what was asked for happen, without a JobMaster: slots time out,
// hosts that were told to end do, and then nothing may be left.
func (w *world) calm() {
	for range 1000 {
		for _, id := range slices.Sorted(maps.Keys(w.links)) {
			if w.links[id] != "" {
				w.step(LinkLost{id, "gone"})
			}
		}
		for _, id := range slices.Sorted(maps.Keys(w.hosts)) {
			if w.dying[id] {
				w.step(HostExited{Host: id, Exit: Exit{How: "exit status 0"}})
			}
		}
		if len(w.core.jobs) == 0 && len(w.hosts) == 0 || w.end != nil {
			break
		}
		w.now = w.now.Add(time.Second)
		w.step(w.due())
	}
	if w.end != nil {
		return
	}
	for _, s := range w.core.slots.report() {
		if s.Allocation != "" {
			w.t.Fatalf("slot %d is still taken by %s of %s", s.Index, s.Allocation, s.Job)
		}
	}
	if len(w.core.jobs) > 0 || len(w.hosts) > 0 {
		w.t.Fatalf("%d jobs and %d hosts are left", len(w.core.jobs), len(w.hosts))
	}
}

// replay gives a second core the same events at the same times.
func (w *world) replay() {
	second := newWorld(w.t, 3)
	for i, event := range w.history {
		if diff := cmp.Diff(w.effects[i], second.core.Step(w.times[i], event)); diff != "" {
			w.t.Fatalf("replayed step %d differs (-first +second):\n%s", i, diff)
		}
	}
}
