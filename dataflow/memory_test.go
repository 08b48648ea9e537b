package dataflow

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// A share depends on what else runs at the moment. It would catch a job that fails for good because of its neighbours, and one that
// restarts although no worker is large enough.
func TestStateIsTooLargeForGoodOnlyForTheWholeMemory(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Resize(100)
	account, _ := b.Open(10, 0)
	b.Open(10, 0)
	memory, cause := &budget{Memory: account}, errors.New("large")
	usable := func(bytes int64) int64 { return bytes - 5 }
	for bytes, permanent := range map[int64]bool{46: false, 95: false, 96: true} {
		err := memory.tooLarge(cause, bytes, usable)
		if !errors.Is(err, cause) || errors.Is(err, operator.ErrPermanent) != permanent {
			t.Errorf("%d bytes: error %v, permanent %v", bytes, err, !permanent)
		}
	}
}

// It would catch a list that is refused memory once and then never counted.
func TestABroadcastListAsksAgain(t *testing.T) {
	t.Parallel()
	var b broker.Broker
	b.Resize(4 << 20)
	other, _ := b.Open(0, 0)
	other.Take(3 << 20)
	account, _ := b.Open(0, 0)
	f := &broadcastFunction[int, int, int]{memory: &budget{Memory: account}}
	if err := f.reserve(3 << 19); err != nil || f.room > 1<<20 || f.room < 1<<19 {
		t.Errorf("error %v, and %d bytes are taken: want what there is", err, f.room)
	}
	other.Close()
	b.Open(0, 0)
	if err := f.reserve(3<<19 + 1); err != nil || f.room < 3<<19 {
		t.Errorf("error %v, and %d bytes are taken: want all", err, f.room)
	}
}

// shared is a subtask whose operators share the memory of a broker.
type shared struct {
	scripted
	broker broker.Broker
	dir    string
}

func (s *shared) LocalDirs() []string { return []string{s.dir} }

// disks is a subtask with many local directories.
type disks struct{ scripted }

func (disks) LocalDirs() []string { return strings.Split("abcdefghij", "") }

// Most operators write a few files. It would catch operators that all write them to the same disk.
func TestOperatorsBeginOnDifferentDisks(t *testing.T) {
	t.Parallel()
	c := &chain{subtask: &disks{}}
	first := make(map[string]bool)
	for range 1000 {
		dirs := c.localDirs()
		first[dirs[0]] = true
		if slices.Sort(dirs); strings.Join(dirs, "") != "abcdefghij" {
			t.Fatalf("directories %q", dirs)
		}
	}
	if len(first) != 10 {
		t.Errorf("1000 operators begin in %d directories of 10", len(first))
	}
}

func (s *shared) Memory(least, most int64) operator.Memory {
	account, _ := s.broker.Open(least, most)
	return account
}

// A sort emits for as long as its consumers take. It would catch one that keeps a share of the memory which it will not use.
func TestASortLeavesItsShareAtTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	subtask := &shared{dir: t.TempDir()}
	subtask.broker.Resize(64 << 20)
	other, _ := subtask.broker.Open(0, 0)
	sort := &sortedInput{caller: caller{t.Context(), &chain{subtask: subtask}, &node{name: "sort"}}, spilled: &spillCounter{counter: new(operator.Counter)}}
	if err := sort.open(leastMemory); err != nil {
		t.Fatal(err)
	}
	defer sort.close()
	sort.take(codec.AppendKey(nil, []byte("key")))
	if share := other.Share(); share != 32<<20 {
		t.Errorf("the share is %d bytes while the sort reads", share)
	}
	if err := sort.sort(); err != nil {
		t.Fatal(err)
	}
	if share := other.Share(); share < 60<<20 {
		t.Errorf("the share is %d bytes while the sort emits", share)
	}
	if key, _, err := sort.sorted.Next(); string(key) != "key" || err != nil {
		t.Errorf("key %q, error %v", key, err)
	}
}
