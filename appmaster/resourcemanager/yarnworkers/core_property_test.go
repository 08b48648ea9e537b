package yarnworkers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// yarn is a naive YARN with its client and the ResourceManager: it gives the requested containers,
// sometimes more, or refuses. It records the history of each container.
type yarn struct {
	core *core
	now  time.Time

	sent, current, resumed time.Time // of the last allocate, of the last one that was answered, and the end of the last pause
	confirming             bool

	asked     int // outstanding in YARN's table
	request   *allocate
	kept      allocate // the refused request: the client repeats the parts that are not replaced
	small     bool     // no node has room for a worker
	changed   bool     // nodes have changed, and an answer must report this
	telling   bool     // the current answer reports changed nodes
	lastID    int
	held      map[records.ContainerID]string // "given", then "started" or "given back"; "unlisted", then "started"
	starting  []records.ContainerID
	stopping  []records.ContainerID
	checking  []records.ContainerID
	completed []records.ContainerStatus    // to be reported
	orphans   map[records.ContainerID]bool // containers that their nodes run, and that have ended for YARN

	total     int
	starts    int
	again     []resourcemanager.Release // workers that were released before they were reported
	reported  map[ids.ResourceID]string // "starting", then "ended" or "released"
	refused   bool                      // the last report says that workers are refused
	refusedAt time.Time
	room      msg.Room // as last reported
	doubtful  bool     // refused, and no OrdersTaken since
}

// step sends an event to the core and performs its effects.
func (y *yarn) step(t *rapid.T, e event) {
	if at := y.core.Alarm(); !at.IsZero() && y.now.Sub(at) >= 500*time.Millisecond {
		y.resumed = y.now // no alarm has rung in time
	}
	if answer, is := e.(allocated); is && (answer.err == nil || errors.Is(answer.err, yarnrpc.ErrInvalidResourceRequest)) {
		y.current = y.sent
	}
	for _, effect := range y.core.Step(y.now, e) {
		switch e := effect.(type) {
		case allocate:
			y.allocate(t, e)
		case report:
			for _, event := range e.events {
				y.report(t, event)
			}
		case startContainers:
			y.mayAct(t, e)
			for _, s := range e.starts {
				if s.by != y.current.Add(2*defaultHeartbeat) {
					t.Fatalf("%s is to be started by %v, and YARN has answered what was sent at %v", s.container.ID, s.by, y.current)
				}
				if y.held[s.container.ID] != "ended" { // YARN has taken it back, and has not told yet
					y.become(t, s.container.ID, "given", "started")
				}
				if y.reported[worker(s.container.ID)] != "starting" {
					t.Fatalf("%s is started before it is reported", s.container.ID)
				}
				y.starting = append(y.starting, s.container.ID)
			}
		case stopContainer:
			y.mayAct(t, e)
			if e.by != y.current.Add(2*defaultHeartbeat) {
				t.Fatalf("%s is to be stopped by %v, and YARN has answered what was sent at %v", e.id, e.by, y.current)
			}
			y.stopping = append(y.stopping, e.id)
			delete(y.orphans, e.id)
		case checkContainer:
			y.checking = append(y.checking, e.id)
		case confirm:
			if y.confirming || y.now.Sub(y.current) < 2*defaultHeartbeat {
				t.Fatalf("look for another leader %v after an answer, looking already: %v", y.now.Sub(y.current), y.confirming)
			}
			y.confirming = true
		case fail, finish, reply:
			t.Fatalf("unexpected effect %+v", e)
		}
	}
	if (y.refused || y.starts >= y.total) && y.room != (msg.Room{}) {
		t.Fatalf("%d of %d workers have started, refused: %v, and they are said to wait: %+v", y.starts, y.total, y.refused, y.room)
	}
	if again := y.again; len(again) > 0 {
		y.again = nil
		y.step(t, ordered{resourcemanager.Orders{Workers: workersOf(testSpec, y.total), Release: again}})
	}
	if at := y.core.Alarm(); !at.IsZero() && !at.After(y.now) {
		t.Fatalf("wake at %v, which is not after %v", at, y.now)
	}
}

// mayAct checks that YARN has answered an allocate that was sent after the last pause, which is not long ago.
func (y *yarn) mayAct(t *rapid.T, e effect) {
	if y.current.Before(y.resumed) || y.now.Sub(y.current) >= 2*defaultHeartbeat {
		t.Fatalf("%+v at %v, after a pause until %v, and YARN has answered what was sent at %v", e, y.now, y.resumed, y.current)
	}
}

func (y *yarn) allocate(t *rapid.T, a allocate) {
	y.sent = y.now
	if y.request != nil {
		t.Fatal("two allocates at once")
	}
	for _, ask := range a.asks {
		if ask.Count < 0 || ask.Key.Priority != 1 || ask.Count > 0 && y.refused {
			t.Fatalf("ask %+v, and workers are refused: %v", ask, y.refused)
		}
	}
	y.request = &a
}

func (y *yarn) report(t *rapid.T, e resourcemanager.WorkerEvent) {
	switch e := e.(type) {
	case resourcemanager.WorkerStarting:
		if y.reported[e.Worker] != "" {
			t.Fatalf("%s is reported starting twice", e.Worker)
		}
		y.reported[e.Worker] = "starting"
		if y.starts++; y.starts > y.total {
			t.Fatalf("%d workers started, and %d ordered", y.starts, y.total)
		}
	case resourcemanager.PreviousWorkers:
		for _, p := range e.Workers {
			switch y.reported[p.Worker] {
			case "":
				y.reported[p.Worker] = "starting"
			case "released": // before YARN has listed it
				y.again = append(y.again, resourcemanager.Release{Worker: p.Worker})
			default:
				t.Fatalf("%s is reported as previous, and was %s", p.Worker, y.reported[p.Worker])
			}
		}
	case resourcemanager.WorkerFailed:
		y.ended(t, e.Worker)
	case resourcemanager.WorkerCompleted:
		y.ended(t, e.Worker)
	case resourcemanager.WorkersRefused:
		if y.refused || !y.small {
			t.Fatalf("refused: %s; refused before: %v, nodes are small: %v", e.Reason, y.refused, y.small)
		}
		y.refused, y.doubtful, y.refusedAt = true, true, y.now
	case resourcemanager.RefusalEnded:
		if !y.refused || !y.telling && y.now.Sub(y.refusedAt) < refusalTime {
			t.Fatalf("a refusal ends %v after it began, nodes have changed: %v", y.now.Sub(y.refusedAt), y.telling)
		}
		y.refused = false
	case resourcemanager.RoomChanged:
		if e.Room == y.room {
			t.Fatalf("told twice: %+v", e.Room)
		}
		y.room = e.Room
	case resourcemanager.OrdersTaken:
		if y.refused || !y.doubtful {
			t.Fatalf("told that YARN takes orders; it refuses: %v, it has refused before: %v", y.refused, y.doubtful)
		}
		y.doubtful = false
	}
}

func (y *yarn) ended(t *rapid.T, id ids.ResourceID) {
	container, err := records.ParseContainerID(string(id))
	if err != nil {
		t.Fatal(err)
	}
	if container.Attempt != testAttempt && y.reported[id] != "starting" {
		return // the provider need not know whether the ResourceManager knows it
	}
	if y.reported[id] != "starting" {
		t.Fatalf("%s is reported ended, and was %q", id, y.reported[id])
	}
	y.reported[id] = "ended"
}

func (y *yarn) become(t *rapid.T, id records.ContainerID, from, to string) {
	if y.held[id] != from {
		t.Fatalf("%s is %s, and was %q", id, to, y.held[id])
	}
	y.held[id] = to
}

// answer applies the current request, and gives the requested containers, or fewer, or more.
func (y *yarn) answer(t *rapid.T) {
	if y.request == nil {
		t.Skip("no allocate is under way")
	}
	request := y.take()
	if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
		y.kept = request // YARN's client repeats it until it is answered
		y.step(t, allocated{err: errors.New("connection refused")})
		return
	}
	if y.refuses(t, request) {
		return
	}
	y.apply(t, request)
	taken := y.asked > 0 && !y.refused
	r := amrm.Response{Headroom: records.Resource{MemoryMB: 1024, VCores: 1}.Times(rapid.IntRange(0, 2).Draw(t, "left"))}
	if y.changed {
		y.changed, y.telling = false, true
		r.UpdatedNodes = testNodes()[:1]
	}
	for range rapid.IntRange(0, y.asked).Draw(t, "given") {
		y.asked--
		r.Allocated = append(r.Allocated, y.give(t))
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "surplus") {
		r.Surplus = append(r.Surplus, y.give(t))
	}
	if rapid.IntRange(0, 9).Draw(t, "previous") == 0 {
		r.PreviousContainers = y.list(t)
	}
	r.Completed, y.completed = y.completed, nil
	y.step(t, allocated{response: r})
	if y.telling && y.refused {
		t.Fatal("a refusal outlives a change of the nodes")
	}
	y.telling = false
	if taken && y.doubtful {
		t.Fatal("nobody is told that YARN takes what it has refused before")
	}
}

// take is the current request as YARN's client sends it: with the parts that were refused before.
func (y *yarn) take() allocate {
	request := allocate{
		asks:    slices.Concat(y.kept.asks, y.request.asks),
		release: slices.Concat(y.kept.release, y.request.release),
	}
	y.request, y.kept = nil, allocate{}
	if len(request.asks) > 1 {
		request.asks = request.asks[len(request.asks)-1:]
	}
	return request
}

// refuses tells whether YARN refuses the whole request because it asks for too much.
func (y *yarn) refuses(t *rapid.T, request allocate) bool {
	if !y.small || !slices.ContainsFunc(request.asks, func(a amrm.Ask) bool { return a.Count > 0 }) {
		return false
	}
	y.kept = request
	y.step(t, allocated{err: yarnrpc.ErrInvalidResourceRequest})
	if !y.refused {
		t.Fatal("nobody is told that YARN refuses workers")
	}
	return true
}

func (y *yarn) apply(t *rapid.T, a allocate) {
	for _, ask := range a.asks {
		y.asked = ask.Count
	}
	for _, id := range a.release {
		switch y.held[id] {
		case "given", "started", "unlisted":
			y.held[id] = "given back"
			y.complete(id, records.ExitAborted)
		case "ended":
		default:
			if id.Attempt == testAttempt { // others may be listed, and released again, while their release is on its way
				t.Fatalf("%s is released, and was %q", id, y.held[id])
			}
		}
	}
}

func (y *yarn) complete(id records.ContainerID, status records.ExitStatus) {
	y.completed = append(y.completed, records.ContainerStatus{ID: id, State: records.ContainerComplete, ExitStatus: status})
}

func (y *yarn) give(t *rapid.T) records.Container {
	y.lastID++
	id := containerID(y.lastID)
	y.held[id] = "given"
	return records.Container{
		ID: id, Node: nodeID(rapid.SampledFrom([]string{"h1", "h2", "h3"}).Draw(t, "host")),
		Resource: records.Resource{MemoryMB: 1024, VCores: 1}, Priority: 1,
	}
}

// list lists containers of the earlier attempt: new ones, one that it has listed before, or that of the earlier master.
func (y *yarn) list(t *rapid.T) (listed []records.Container) {
	for id := range rapid.IntRange(0, 6).Draw(t, "listed") {
		k := records.Container{ID: previousID(id), Node: nodeID("h1"), Resource: records.Resource{MemoryMB: 1024, VCores: 1}, Priority: 1}
		switch {
		case id == 0 && y.held[k.ID] == "":
			k.Priority = masterPriority
			y.held[k.ID] = "given"
		case id > 0 && (y.held[k.ID] == "" || y.held[k.ID] == "unlisted"):
			y.held[k.ID] = "started"
		case y.held[k.ID] != "started":
			continue
		}
		listed = append(listed, k)
	}
	return listed
}

// unlisted makes a worker of the earlier attempt register, whose container YARN has not listed. It is released, or ends.
func (y *yarn) unlisted(t *rapid.T) {
	id := previousID(rapid.IntRange(1, 6).Draw(t, "unlisted"))
	switch y.held[id] {
	case "":
		y.held[id], y.reported[worker(id)] = "unlisted", "starting"
		if rapid.Bool().Draw(t, "ends") {
			y.held[id] = "ended"
			y.complete(id, 1)
			return
		}
		y.reported[worker(id)] = "released"
		y.step(t, ordered{resourcemanager.Orders{
			Workers: workersOf(testSpec, y.total), Release: []resourcemanager.Release{{Worker: worker(id)}},
		}})
	default:
		t.Skip("YARN has told of it")
	}
}

func take[T any](t *rapid.T, what string, list *[]T) T {
	if len(*list) == 0 {
		t.Skip("no " + what)
	}
	i := rapid.IntRange(0, len(*list)-1).Draw(t, what)
	item := (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return item
}

// order sends new orders like the ResourceManager: the total is never below the number of started
// workers, and it releases only known workers.
func (y *yarn) order(t *rapid.T) {
	o := resourcemanager.Orders{}
	y.total = y.starts + rapid.IntRange(0, 5).Draw(t, "outstanding")
	o.Workers = workersOf(testSpec, y.total)
	for _, id := range slices.Sorted(maps.Keys(y.reported)) {
		if y.reported[id] != "starting" {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "fate") {
		case 0:
			y.reported[id] = "released"
			o.Release = append(o.Release, resourcemanager.Release{Worker: id})
		case 1:
			o.Check = append(o.Check, id)
		}
	}
	y.step(t, ordered{o})
}

// started makes a node start a container. If the node was told the end of the container before,
// YARN ignores the start.
func (y *yarn) started(t *rapid.T, id records.ContainerID) {
	if y.held[id] == "given back" {
		y.orphans[id] = true
	}
	y.step(t, containerStarted{id: id})
}

// unanswered makes the answer to a start get lost; the node may have started the container.
func (y *yarn) unanswered(t *rapid.T, id records.ContainerID) {
	y.orphans[id] = true
	y.step(t, containerStarted{id: id, err: &yarnrpc.CallError{MaybeSent: true, Err: context.DeadlineExceeded}})
}

// Whatever YARN and its nodes do: no container is lost, started twice, or left running without a
// worker; those of the earlier attempt are kept, and its master's is given back. Containers are started and stopped only after
// an answer that was asked for since the last pause. Each end of a worker is reported once, and not for released workers. There are never more
// workers than ordered. Refused workers are not requested until the nodes change or some time has
// passed; then they are requested again.
func TestCoreKeepsItsPromisesUnderAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := &yarn{
			core: testCore(launch.WorkerPlace{}, testNodes()), now: testEpoch,
			held: make(map[records.ContainerID]string), orphans: make(map[records.ContainerID]bool), reported: make(map[ids.ResourceID]string),
		}
		y.current = testEpoch
		y.step(t, registered{amrm.Registration{PreviousContainers: y.list(t)}, testEpoch})
		t.Repeat(map[string]func(*rapid.T){
			"answer":   y.answer,
			"order":    y.order,
			"unlisted": y.unlisted,
			"look ends": func(t *rapid.T) {
				if !y.confirming {
					t.Skip("nobody looks")
				}
				y.confirming = false
				y.step(t, confirmed{rapid.SampledFrom([]error{nil, errors.New("no answer")}).Draw(t, "leader")})
			},
			"start answered": func(t *rapid.T) {
				id := take(t, "start", &y.starting)
				switch rapid.IntRange(0, 6).Draw(t, "fails") {
				case 2:
					if y.held[id] == "started" {
						y.held[id] = "given" // it is to be sent again
					}
					y.step(t, containerStarted{id: id, err: errLate})
				case 0:
					y.step(t, containerStarted{id: id, err: errors.New("no disk")})
				case 1:
					y.unanswered(t, id)
				default:
					y.started(t, id)
				}
			},
			"nodes change": func(t *rapid.T) {
				y.small = rapid.Bool().Draw(t, "small")
				y.changed = rapid.Bool().Draw(t, "told")
			},
			"stop answered": func(t *rapid.T) { y.step(t, containerStopped{id: take(t, "stop", &y.stopping)}) },
			"stop late": func(t *rapid.T) {
				id := take(t, "stop", &y.stopping)
				y.orphans[id] = true // until it is sent again
				y.step(t, containerStopped{id: id, node: nodeID("h1"), late: true})
			},
			"check answered": y.checked,
			"container ends": y.ends,
			"time passes":    y.timePasses,
		})
		y.settle(t)
	})
}

func (y *yarn) checked(t *rapid.T) {
	e := containerChecked{id: take(t, "check", &y.checking)}
	if y.held[e.id] == "ended" {
		e.status = records.ContainerStatus{ID: e.id, State: records.ContainerComplete, ExitStatus: 1}
	}
	y.step(t, e)
}

func (y *yarn) ends(t *rapid.T) {
	var started []records.ContainerID
	for id, state := range y.held {
		if state == "started" {
			started = append(started, id)
		}
	}
	slices.SortFunc(started, records.ContainerID.Compare)
	id := take(t, "container", &started)
	y.held[id] = "ended"
	y.complete(id, 1)
}

func (y *yarn) timePasses(t *rapid.T) {
	y.now = y.now.Add(time.Duration(rapid.IntRange(1, 12_000).Draw(t, "ms")) * time.Millisecond)
	if at := y.core.Alarm(); !at.IsZero() && !y.now.Before(at) {
		y.step(t, woken{})
		if y.refused && y.now.Sub(y.refusedAt) >= refusalTime {
			t.Fatalf("a refusal holds %v", y.now.Sub(y.refusedAt))
		}
	}
}

// settle answers everything, and then checks the accounts: each held container belongs to a worker,
// and all others are released.
func (y *yarn) settle(t *rapid.T) {
	y.small = false // without a report
	for range 20 {
		for len(y.starting) > 0 {
			y.started(t, take(t, "start", &y.starting))
		}
		for len(y.stopping) > 0 {
			y.step(t, containerStopped{id: take(t, "stop", &y.stopping)})
		}
		for len(y.checking) > 0 {
			y.checked(t)
		}
		y.now = y.now.Add(defaultHeartbeat)
		y.step(t, woken{})
		if y.request != nil {
			y.apply(t, y.take())
			r := amrm.Response{Completed: y.completed}
			y.completed = nil
			y.step(t, allocated{response: r})
		}
	}
	for id, state := range y.held {
		if live := state == "given" || state == "started"; live != (y.reported[worker(id)] == "starting") {
			t.Fatalf("container %s is %s, and its worker %q", id, state, y.reported[worker(id)])
		}
	}
	for id := range y.orphans {
		t.Fatalf("nobody stops %s", id)
	}
	if y.asked != y.total-y.starts {
		t.Fatalf("%d containers are asked for, of %d workers ordered and %d started", y.asked, y.total, y.starts)
	}
}
