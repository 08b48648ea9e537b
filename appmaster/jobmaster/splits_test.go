package jobmaster

import (
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

func queueOf(text string, parallelism int) *splitQueue {
	var splits []jobgraph.Split
	for word := range strings.FieldsSeq(text) {
		name, hosts, _ := strings.Cut(word, ":")
		s := jobgraph.Split{Base: name, Parts: []jobgraph.Part{{Length: 100}, {Length: int64(len(splits))}}}
		if hosts != "" {
			s.Hosts = strings.Split(hosts, ",")
		}
		splits = append(splits, s)
	}
	return newSplitQueue(splits, parallelism)
}

// next asks for the next split: its name, or none.
func next(q *splitQueue, subtask, attempt int, host string) string {
	if i, found := q.next(subtask, attempt, host); found {
		return q.splits[i].Base
	}
	return "none"
}

func drain(q *splitQueue, subtask int, host string) string {
	var got []string
	for s := next(q, subtask, 0, host); s != "none"; s = next(q, subtask, 0, host) {
		got = append(got, s)
	}
	return strings.Join(got, " ")
}

func TestSplitsOnTheOwnNodeComeFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ splits, host, want string }{
		"own ones, then the rest in order": {"a:n1 b:n2 c:n1,n2 d", "n2", "b c a d"},
		"a node with none":                 {"a:n1 b:n2", "n3", "a b"},
		"nothing to read":                  {"", "n1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := drain(queueOf(test.splits, 1), 0, test.host); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A restarted subtask must read the splits of its last attempt, and no splits of other subtasks.
func TestSplitsTakenBackAreHandedOutAgain(t *testing.T) {
	t.Parallel()
	q := queueOf("a:n1 b:n1 c:n2 d:n2 e", 2)
	if first, other := next(q, 0, 0, "n1"), next(q, 1, 0, "n1"); first != "a" || other != "b" {
		t.Fatalf("got %s and %s first", first, other)
	}
	if rest := drain(q, 0, "n2"); rest != "c d e" {
		t.Fatalf("got %q", rest)
	}
	q.takeBack(0)
	if got := drain(q, 0, "n2"); got != "c d a e" {
		t.Errorf("after taking back: %q", got)
	}
	q.takeBack(0)
	q.takeBack(1)
	all := strings.Fields(drain(q, 1, "n9"))
	slices.Sort(all)
	if got := strings.Join(all, " "); got != "a b c d e" {
		t.Errorf("after taking all back: %q", got)
	}
}

// TestReadSplits would catch a progress that counts a split while it is read, that never reaches its end, or that keeps what an
// attempt has read after its restart; and bytes of some splits only.
func TestReadSplits(t *testing.T) {
	t.Parallel()
	q := queueOf("a b c", 2)
	check := func(when string, want int) {
		t.Helper()
		if got := q.done(); got != want {
			t.Errorf("%s: %d splits are read, want %d", when, got, want)
		}
	}
	if q.bytes != 303 { // parts of 100 bytes, and of 0, 1 and 2
		t.Errorf("the splits have %d bytes", q.bytes)
	}
	check("at first", 0)
	q.next(0, 0, "")
	q.next(1, 0, "")
	check("both read their first one", 0)
	q.next(0, 0, "")
	check("one asks again", 1)
	q.takeBack(0)
	check("it restarts", 0)
	drain(q, 1, "")
	check("the other reads all that is left", 3)
	drain(q, 0, "")
	check("none is left for the restarted one", 3)
}

// TestAttemptsOfASubtaskReadTheSameSplits would catch records that are lost because one of two attempts at the same time has read a
// split, and the other one has finished; and a split that a subtask gets after one of its attempts may have finished without it.
func TestAttemptsOfASubtaskReadTheSameSplits(t *testing.T) {
	t.Parallel()
	q := queueOf("a b c d", 2)
	for i, step := range []struct {
		subtask, attempt int
		want             string
	}{{0, 0, "a"}, {1, 0, "b"}, {0, 0, "c"}, {0, 1, "a"}, {0, 1, "c"}, {0, 1, "d"}, {0, 1, "none"}, {0, 0, "d"}, {0, 0, "none"}} {
		if got := next(q, step.subtask, step.attempt, ""); got != step.want {
			t.Fatalf("step %d: %+v got %s", i, step, got)
		}
	}
	q.takeBack(1)
	if got := next(q, 0, 1, ""); got != "none" {
		t.Errorf("a subtask that has read all gets %s, which another one gives back", got)
	}
	if got := next(q, 1, 1, ""); got != "b" {
		t.Errorf("the other one restarts, and gets %s", got)
	}
}
