package books_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// world is a cluster with one application, and what its masters were told.
type world struct {
	*cluster
	first   records.ApplicationAttemptID
	keeps   bool
	pending []records.Container          // granted, not started
	granted map[records.ContainerID]bool // to an attempt that may learn of their end
	told    map[told]bool
}

// told is the report of a container's end by one ResourceManager to one attempt. The next attempt may get it again.
type told struct {
	id records.ContainerID
	by int64
	to records.ApplicationAttemptID
}

func (w *world) app() books.ApplicationView { return w.rm.Applications()[0] }

// attempt returns the last attempt, registered if its master runs.
func (w *world) attempt() (records.ApplicationAttemptID, bool) {
	attempts := w.app().Attempts
	last := attempts[len(attempts)-1]
	if !last.Live || last.State == records.AttemptScheduled || !slices.Contains(w.runs, last.Master) {
		return last.ID, false
	}
	if !last.Registered {
		w.register(last.ID)
	}
	return last.ID, true
}

// call makes an allocate, and enters its answer.
func (w *world) call(t *rapid.T, r *yarnpb.AllocateRequestProto) {
	a, is := w.attempt()
	if !is {
		return
	}
	w.got, w.ended = nil, nil
	w.pending = append(w.pending, w.allocate(a, r)...)
	for _, id := range w.got {
		if w.granted[id] {
			t.Fatalf("%s was granted twice", id)
		}
		w.granted[id] = true
	}
	for _, id := range w.ended {
		one := told{id, w.rm.Identifier(), a}
		if w.told[one] {
			t.Fatalf("the end of %s was told twice", id)
		}
		w.told[one] = true
		delete(w.granted, id)
	}
}

// check holds after each event.
func (w *world) check(t *rapid.T) {
	used := map[records.NodeID]records.Resource{}
	app := w.app()
	current := app.Attempts[len(app.Attempts)-1].ID
	for _, c := range app.Containers {
		if c.State != records.ContainerComplete {
			used[c.Node] = used[c.Node].Add(c.Resource)
		}
		if c.State != records.ContainerComplete && c.Owner != current {
			t.Fatalf("%s runs for the attempt %s, the last is %s", c.ID, c.Owner, current)
		}
	}
	for _, n := range w.rm.Nodes() {
		if n.Used != used[n.ID] || !n.Used.Fits(n.Capability) {
			t.Fatalf("%s has %s in use of %s, its containers take %s", n.ID, n.Used, n.Capability, used[n.ID])
		}
	}
	if !w.keeps {
		for id := range w.granted {
			if id.Attempt != current {
				delete(w.granted, id) // it ended with its attempt, which nobody is told
			}
		}
	}
}

// rest lets all messages through. Then each granted container runs, or its end was told.
func (w *world) rest(t *rapid.T) {
	clear(w.cut)
	for _, n := range w.nodes {
		if !n.Up() {
			w.tell(n.ID().Host, books.Start{})
		}
	}
	for range 4 {
		w.beat()
		w.call(t, nothing())
	}
	w.check(t)
	for id := range w.granted {
		if c, known := w.rm.Container(id); !known || c.State == records.ContainerComplete {
			t.Fatalf("nobody was told the end of %s: %+v", id, c)
		}
	}
	for _, id := range w.runs {
		if c, known := w.rm.Container(id); !known || c.State == records.ContainerComplete {
			t.Fatalf("%s still runs, although the books say %+v", id, c)
		}
	}
}

// stopNode stops a node. Nobody is told of a container that the ResourceManager does not know.
func (w *world) stopNode(host string) {
	w.tell(host, books.Stop{})
	for id := range w.granted {
		if _, known := w.rm.Container(id); !known && w.where[id] == host {
			delete(w.granted, id)
		}
	}
}

// restartNode starts a node that is down.
func (w *world) restartNode(host string) {
	if !w.node(host).Up() {
		w.tell(host, books.Start{})
	}
}

// It would catch room that is used twice or never returned, an end that is told twice or to nobody,
// a process that YARN has forgotten, and an answer that is not repeated, in orders of faults that no
// table has.
func TestTheModelKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := []string{"a", "b", "c"}
		w := &world{
			cluster: newCluster(t, books.Settings{MaxAttempts: 1000, MasterExpiry: 40 * time.Second, NodeExpiry: 15 * time.Second}, hosts...),
			keeps:   rapid.Bool().Draw(t, "keeps"),
			granted: map[records.ContainerID]bool{}, told: map[told]bool{},
		}
		w.first = w.submit(&yarnpb.ApplicationSubmissionContextProto{KeepContainersAcrossApplicationAttempts: proto.Bool(w.keeps)})
		host := func(t *rapid.T) string { return rapid.SampledFrom(hosts).Draw(t, "host") }
		t.Repeat(map[string]func(*rapid.T){
			"": w.check,
			"ask": func(t *rapid.T) {
				w.call(t, asks(rapid.Int32Range(0, 4).Draw(t, "count")))
			},
			"allocate": func(t *rapid.T) { w.call(t, nothing()) },
			"release": func(t *rapid.T) {
				all := slices.SortedFunc(maps.Keys(w.granted), records.ContainerID.Compare)
				a, is := w.attempt()
				if !is || len(all) == 0 {
					return
				}
				id := rapid.SampledFrom(all).Draw(t, "container")
				if _, known := w.rm.Container(id); known && (w.keeps || id.Attempt == a) {
					w.call(t, &yarnpb.AllocateRequestProto{Release: []*yarnpb.ContainerIdProto{pbconv.ContainerIDProto(id)}})
				}
			},
			"beat": func(t *rapid.T) {
				if name := host(t); w.node(name).Up() {
					w.tell(name, books.Beat{})
				}
			},
			"start": func(*rapid.T) {
				if len(w.pending) > 0 {
					one := w.pending[0]
					w.pending = w.pending[1:]
					w.start(one)
				}
			},
			"exit": func(t *rapid.T) {
				if len(w.runs) > 0 {
					id := rapid.SampledFrom(w.runs).Draw(t, "process")
					w.exit(w.where[id], id, records.ExitStatus(rapid.Int32Range(0, 2).Draw(t, "status")))
				}
			},
			"preempt": func(t *rapid.T) {
				if len(w.runs) > 0 {
					w.step(books.ContainerTaken{ID: rapid.SampledFrom(w.runs).Draw(t, "container"), Exit: records.ExitPreempted})
				}
			},
			"cut":  func(t *rapid.T) { w.cut[host(t)] = true },
			"heal": func(t *rapid.T) { delete(w.cut, host(t)) },
			"pass": func(t *rapid.T) {
				w.pass(time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second)
			},
			"a node stops":  func(t *rapid.T) { w.stopNode(host(t)) },
			"a node starts": func(t *rapid.T) { w.restartNode(host(t)) },
			"the ResourceManager restarts": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "chance") > 0 {
					return
				}
				// It forgets what no node reports, and so nobody is told of it.
				w.step(books.Restarted{})
				for id := range w.granted {
					if !slices.Contains(w.runs, id) {
						delete(w.granted, id)
					}
				}
			},
		})
		w.rest(t)
	})
}
