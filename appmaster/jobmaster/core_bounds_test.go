package jobmaster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestFailuresOfAJobAreBounded would catch a job whose failures fill the memory of the
// ApplicationMaster, and a job that keeps no failures, or old ones instead of the last.
func TestFailuresOfAJobAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 200).Draw(t, "web.exception-history-size")
		c := &core{config: Config{ExceptionHistory: most}, regions: make([]region, 100)}
		entry := func(i int) msg.ExceptionEntry {
			size := rapid.SampledFrom([]int{0, 100, 4 << 10, 40 << 10}).Draw(t, "size")
			text := strings.Repeat("x", size)
			return msg.ExceptionEntry{Failure: *msg.NewFailure(fmt.Sprint(i, text), text), Task: "t", Location: "n"}
		}
		last := rapid.IntRange(0, 100).Draw(t, "failures") - 1
		for i := range last + 1 {
			e := entry(i)
			c.remember(e)
			if c.hasRoomForFailed(e) {
				c.failed = append(c.failed, taskFailure{entry: e})
			}
			c.losses = append(c.losses, &loss{cause: failover.Cause{Failure: e.Failure, Host: ids.HostID(fmt.Sprint(i))}})
			c.boundLosses()
			cause := failover.Cause{Failure: e.Failure, Task: e.Task, Location: e.Location}
			if !c.hasRoomForIncident(cause) {
				cause.Failure = brief(cause.Failure)
			}
			c.regions[i].incident.Add(cause)
			c.failing = append(c.failing, i)
		}
		size := 0
		for _, r := range c.failing {
			root, _ := c.regions[r].incident.Root(time.Time{})
			if e := root.Entry(); len(e.Failure.Message) > maxBrief || e.Failure.Stack != "" {
				size += budget.SizeOfFailure(&e)
			}
		}
		for i := range c.history {
			size += budget.SizeOfFailure(&c.history[i])
		}
		for i := range c.failed {
			size += budget.SizeOfFailure(&c.failed[i].entry)
		}
		for _, l := range c.losses {
			e := l.cause.Entry()
			size += budget.SizeOfFailure(&e)
		}
		if size > msg.MaxJobFailures || len(c.history) > most || len(c.failed) > maxTaskFailures || len(c.losses) > maxLosses {
			t.Fatalf("%d root causes, %d failures and %d losses of %d bytes are kept", len(c.history), len(c.failed), len(c.losses), size)
		}
		if last < 0 {
			return
		}
		// historyBytes have room for 16 root causes in any case, whose older texts are brief.
		if want := min(last+1, most, 16); len(c.history) < want {
			t.Fatalf("%d root causes of %d are kept, want %d at least", len(c.history), last+1, want)
		}
		if newest := fmt.Sprint(last); len(c.failed) == 0 || !strings.HasPrefix(c.history[0].Failure.Message, newest) || string(c.losses[len(c.losses)-1].cause.Host) != newest {
			t.Fatalf("of %d failures the newest is lost", last+1)
		}
	})
}

// TestBriefFailures would catch a brief text that keeps the memory of the whole text, and an
// invalid text.
func TestBriefFailures(t *testing.T) {
	t.Parallel()
	f := brief(msg.Failure{Message: strings.Repeat("é", maxBrief), Stack: "main.f()", PeerLost: "h1", Permanent: true})
	if want := strings.Repeat("é", maxBrief/2); f.Message != want || f.Stack != "" || f.PeerLost != "h1" || !f.Permanent {
		t.Errorf("got %+v", f)
	}
}

// TestCountersAreSumsOfTheLastAttempts compares with a naive sum. It would catch counters of an
// attempt that was restarted, lost counters of a finished region, and an unbounded number of names.
func TestCountersAreSumsOfTheLastAttempts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCounters(0)
		type named struct {
			vertex int
			name   string
		}
		reported := make(map[int]map[named]int64) // by region
		kept := make(map[int]map[named]int64)     // by region
		settled := make(map[int]bool)
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			region := rapid.IntRange(0, 3).Draw(t, "region")
			if settled[region] {
				continue
			}
			switch rapid.IntRange(0, 7).Draw(t, "action") {
			case 6: // the tasks that have finished never run again
				c.keep(region)
				if kept[region] == nil {
					kept[region] = make(map[named]int64)
				}
				for name, n := range reported[region] {
					kept[region][name] += n
				}
				delete(reported, region)
			case 7: // all others run again
				c.reset()
				clear(reported)
				clear(settled)
			case 0:
				c.restart(region)
				delete(reported, region)
			case 1:
				c.settle(region)
				settled[region] = true
			default:
				task := rapid.MapOf(rapid.StringMatching("[a-c]"), rapid.Int64Range(0, 9)).Draw(t, "counters")
				vertex := rapid.IntRange(0, 1).Draw(t, "vertex")
				if err := c.fit(region, vertex, task); err != nil {
					t.Fatal(err)
				}
				c.add(region, vertex, task)
				if reported[region] == nil {
					reported[region] = make(map[named]int64)
				}
				for name, n := range task {
					reported[region][named{vertex, name}] += n
				}
			}
		}
		want, names := make(map[int]map[string]int64), make(map[string]bool)
		for _, region := range slices.Concat(slices.Collect(maps.Values(reported)), slices.Collect(maps.Values(kept))) {
			for key, n := range region {
				if want[key.vertex] == nil {
					want[key.vertex] = make(map[string]int64)
				}
				want[key.vertex][key.name] += n
				names[key.name] = true
			}
		}
		if len(c.names) != len(names) {
			t.Fatalf("%d names are known, of %d", len(c.names), len(names))
		}
		if diff := cmp.Diff(want, c.sums()); diff != "" {
			t.Fatalf("sums (-want +got):\n%s", diff)
		}
		bytes, lasting := 0, make(map[string]int)
		for name := range names {
			bytes += msg.CounterBytes + len(name)
		}
		for _, region := range c.regions {
			bytes += len(region) * msg.RegionCounterBytes
		}
		for _, sum := range []map[counter]int64{c.kept, c.settled} {
			for key := range sum {
				if lasting[key.name.text]++; lasting[key.name.text] > 1 {
					bytes += msg.RegionCounterBytes
				}
			}
		}
		if c.bytes != bytes {
			t.Fatalf("they take %d bytes by account, and %d by count", c.bytes, bytes)
		}
	})
	c := newCounters(0)
	taken := 0
	for i := range 10_000 {
		task := map[string]int64{fmt.Sprintf("counter-%d", i): 1}
		if err := c.fit(i, 0, task); err != nil {
			break
		}
		c.add(i, 0, task)
		c.settle(i)
		taken++
	}
	if most := msg.MaxJobCounters / msg.CounterBytes; taken == 0 || taken > most {
		t.Errorf("%d names are taken, at most %d", taken, most)
	}
	const tasks = 1000
	c = newCounters(tasks)
	few := map[string]int64{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}
	for i := range tasks {
		if err := c.fit(i, 0, few); err != nil {
			t.Fatalf("few counters of region %d: %v", i, err)
		}
		c.add(i, 0, few)
	}
	many := make(map[string]int64)
	for i := range 600 {
		many[fmt.Sprint("counter-", i)] = 1
	}
	entries := 0
	for i := range tasks {
		if c.fit(i, 0, many) == nil {
			c.add(i, 0, many)
		}
		entries += len(c.regions[i])
	}
	if size := entries * msg.RegionCounterBytes; size > c.most {
		t.Errorf("regions that are half done hold %d counters, %d bytes of %d", entries, size, c.most)
	}
	c.reset()
	if c.bytes != 0 || len(c.names) != 0 {
		t.Errorf("%d bytes of %d names are left when nobody reports any", c.bytes, len(c.names))
	}
}
