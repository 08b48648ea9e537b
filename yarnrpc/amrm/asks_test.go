package amrm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// script drives a table and writes what it would send, one line per exchange.
type script struct {
	table askTable
	lines []string
}

func (s *script) ask(count int, hosts ...HostAsk) {
	s.table.set(Ask{Key: AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 512, VCores: 1}, Count: count, Hosts: hosts})
}

// send is an exchange that succeeds.
func (s *script) send() {
	entries, versions := s.leave()
	s.table.sent(entries, versions)
}

// leave is a request whose answer is outstanding.
func (s *script) leave() ([]resourceRequest, map[AskKey]int) {
	entries, versions := s.table.changes()
	s.table.sending(entries)
	var places []string
	for _, e := range entries {
		places = append(places, fmt.Sprintf("%s:%d", e.place, e.count))
	}
	s.lines = append(s.lines, strings.Join(places, " "))
	return entries, versions
}

func (s *script) comes(host string) bool {
	return s.table.allocated(records.Container{Priority: 1, Node: records.NodeID{Host: host, Port: 1}}, nil)
}

func host(name, rack string, count int) HostAsk { return HostAsk{Host: name, Rack: rack, Count: count} }

func TestAskTableSendsWholeKeysOnceAndCancelsByName(t *testing.T) {
	t.Parallel()
	s := &script{table: newAskTable()}
	s.ask(3, host("a", "/r", 2), host("b", "/r", 2))
	s.send()
	s.send() // nothing has changed

	s.comes("a") // YARN counts down by itself: nothing to send
	s.send()

	s.ask(1, host("b", "/r", 1)) // fewer, and not on a
	s.send()

	s.ask(0)
	s.send()
	s.send()
	want := []string{
		"*:3 /r:3 a:2 b:2",
		"",
		"",
		"*:1 /r:1 b:1 a:0",
		"*:0 /r:0 b:0",
		"",
	}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(s.table.keys) != 0 {
		t.Errorf("a cancelled key is kept: %v", s.table.keys)
	}
}

func TestAskTableCountsDownAsYarnDoes(t *testing.T) {
	t.Parallel()
	s := &script{table: newAskTable()}
	s.ask(3, host("a", "/r", 1), host("b", "/q", 2))
	s.send()
	for _, h := range []string{"a", "elsewhere", "b"} {
		if !s.comes(h) {
			t.Errorf("the container on %s was outstanding", h)
		}
	}
	if s.comes("b") {
		t.Error("a fourth container counts as wanted")
	}
	if s.table.pending() {
		t.Error("counting down is sent")
	}
	// The next change of the key corrects the difference that an unnamed host has caused.
	s.ask(2, host("b", "/q", 2))
	s.send()
	want := []string{"*:3 /q:2 /r:1 a:1 b:2", "*:2 /q:2 b:2 /r:0 a:0"}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// If changes were cleared when the request leaves, not when it has arrived, asks made in
// between would be lost.
func TestAskTableKeepsChangesMadeWhileARequestIsOnItsWay(t *testing.T) {
	t.Parallel()
	s := &script{table: newAskTable()}
	s.ask(2, host("a", "/r", 2))
	entries, versions := s.leave()
	s.ask(5, host("b", "/r", 5))
	s.table.sent(entries, versions)
	if !s.table.pending() {
		t.Fatal("the later ask is lost")
	}
	s.send()
	want := []string{"*:2 /r:2 a:2", "*:5 /r:5 b:5 a:0"}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// YARN sets a new count unchanged, although it has just given a container for the old one.
// Without another send it would give that container twice.
func TestAskTableSendsAgainWhatCrossedWithAContainer(t *testing.T) {
	t.Parallel()
	s := &script{table: newAskTable()}
	s.ask(1, host("a", "/r", 1))
	s.send()
	s.ask(3, host("a", "/r", 3))
	_, versions := s.leave()
	s.table.sent(nil, versions)
	s.table.allocated(records.Container{Priority: 1, Node: records.NodeID{Host: "a"}}, versions)
	s.send()
	want := []string{"*:1 /r:1 a:1", "*:3 /r:3 a:3", "*:2 /r:2 a:2"}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAskTableSendsEverythingAfterARestart(t *testing.T) {
	t.Parallel()
	s := &script{table: newAskTable()}
	s.ask(2, host("a", "/r", 2))
	s.send()
	s.comes("a")
	s.table.forget()
	s.send()
	want := []string{"*:2 /r:2 a:2", "*:1 /r:1 a:1"}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAskTableStrictAsksStayOnTheirHosts(t *testing.T) {
	t.Parallel()
	table := newAskTable()
	table.set(Ask{Count: 1, Hosts: []HostAsk{host("a", "/r", 1)}, Strict: true, NodeLabel: "gpu"})
	entries, _ := table.changes()
	relax := map[string]bool{}
	labels := map[string]string{}
	for _, e := range entries {
		relax[e.place], labels[e.place] = e.relax, e.label
	}
	if diff := cmp.Diff(map[string]bool{"*": false, "/r": false, "a": true}, relax); diff != "" {
		t.Errorf("relax locality (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"*": "gpu", "/r": "", "a": ""}, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// If the delay never ends, the ask starves while its hosts are full. If it ends at once,
// or for later asks, containers run far from their data.
func TestStrictAsksAreRelaxedAfterATime(t *testing.T) {
	t.Parallel()
	const delay = time.Minute
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ask := func(count int) Ask {
		return Ask{Key: AskKey{Priority: 1}, Count: count, Hosts: []HostAsk{host("a", "/r", 1)}, Racks: []RackAsk{{"/s", 1}}, Strict: true, RelaxAfter: delay}
	}
	table := newAskTable()
	// at is what is sent a time after the start: the places that are open, and the others.
	at := func(after time.Duration) string {
		table.relax(start.Add(after))
		entries, versions := table.changes()
		var places []string
		for _, e := range entries {
			place := fmt.Sprintf("%s:%d", e.place, e.count)
			if !e.relax {
				place = "[" + place + "]"
			}
			places = append(places, place)
		}
		table.sending(entries)
		table.sent(entries, versions)
		return strings.Join(places, " ")
	}
	const sent = 10 * time.Second // long after it was set: nobody has called Allocate
	for _, step := range []struct {
		name  string
		does  func()
		after time.Duration
		want  string
	}{
		{"asked for", func() { table.set(ask(3)) }, sent, "[*:3] [/r:1] /s:1 a:1"},
		{"too early", func() {}, sent + delay - 1, ""},
		{"the same again, which begins no delay", func() { table.set(ask(3)) }, sent + delay - 1, ""},
		{"one has come", func() { table.allocated(records.Container{Priority: 1, Node: records.NodeID{Host: "b", Port: 1}}, nil) }, sent + delay - 1, ""},
		{"in time", func() {}, sent + delay, "*:2 /r:1 /s:1 a:1"},
		{"said already", func() {}, sent + 2*delay, ""},
		{"the same again, which is relaxed", func() { table.set(ask(2)) }, sent + 2*delay, ""},
		{"after a restart of YARN's", func() { table.forget() }, sent + 2*delay, "*:2 /r:1 /s:1 a:1"},
		{"more, which begins anew", func() { table.set(ask(4)) }, sent + 3*delay, "[*:4] [/r:1] /s:1 a:1"},
		{"more is relaxed, too", func() {}, sent + 4*delay, "*:4 /r:1 /s:1 a:1"},
		{"taken back", func() { table.set(ask(0)) }, sent + 4*delay, "[*:0] /r:0 /s:0 a:0"},
		{"nothing is left to relax", func() {}, sent + 9*delay, ""},
	} {
		step.does()
		if got := at(step.after); got != step.want {
			t.Errorf("%s: %q is sent, want %q", step.name, got, step.want)
		}
	}
	table.set(Ask{Count: 1, Hosts: []HostAsk{host("a", "/r", 1)}, Strict: true})
	if got, later := at(0), at(1000*time.Hour); got != "[*:1] [/r:1] a:1" || later != "" {
		t.Errorf("without a time: %q is sent, and later %q", got, later)
	}
}
