package failover

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func names(nodes []msg.BlockedNode) (names []string) {
	for _, n := range nodes {
		names = append(names, n.Node)
	}
	return names
}

// TestABlockEnds would catch a node that is set aside for ever, and a second block that counts from
// the time of the first.
func TestABlockEnds(t *testing.T) {
	t.Parallel()
	var b Blocklist
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	if _, blocked := b.Next(); blocked || !b.Empty() || b.Expire(at(0)) {
		t.Error("an empty list blocks something")
	}
	b.Block(at(0).Add(BlockTime), "n1", "disk full")
	b.Block(at(2).Add(BlockTime), "n2", "disk full")
	b.Block(at(4).Add(BlockTime), "n1", "disk full still")
	if diff := cmp.Diff([]string{"n2", "n1"}, names(b.Nodes())); diff != "" {
		t.Errorf("blocked nodes differ (-want +got):\n%s", diff)
	}
	if next, _ := b.Next(); !next.Equal(at(12)) {
		t.Errorf("the next block ends at %s, want %s", next, at(12))
	}
	if b.Expire(at(11)) || !b.Blocks("n2") {
		t.Error("a block ends too early")
	}
	if !b.Expire(at(12)) || b.Blocks("n2") || !b.Blocks("n1") {
		t.Errorf("after 12 min blocked: %v, want n1", names(b.Nodes()))
	}
	if other, known := b.Other("n1"); known {
		t.Errorf("beside n1 %s is blocked", other.Node)
	}
	if other, known := b.Other("n3"); !known || other.Node != "n1" || other.Cause != "disk full still" {
		t.Errorf("beside n3 %+v (%t) is blocked, want n1", other, known)
	}
}

// TestFullWorkersDoNotAccuseAJob would catch a job that fails because two workers are full. It would also catch a job that forgets a node
// on which no host can run as soon as another one is full.
func TestFullWorkersDoNotAccuseAJob(t *testing.T) {
	t.Parallel()
	var b Blocklist
	b.BlockFull(start.Add(BlockTime), "n1", "no room")
	if other, known := b.Other("n2"); known || !b.Blocks("n1") {
		t.Errorf("beside n2 %s counts, and n1 is blocked: %t", other.Node, b.Blocks("n1"))
	}
	b.Block(start.Add(BlockTime), "n3", "disk full")
	b.BlockFull(start.Add(BlockTime), "n4", "no room")
	if other, known := b.Other("n2"); !known || other.Node != "n3" {
		t.Errorf("beside n2 %+v (%t) counts, want n3", other, known)
	}
	if diff := cmp.Diff([]string{"n1", "n3", "n4"}, names(b.Nodes())); diff != "" {
		t.Errorf("blocked nodes differ (-want +got):\n%s", diff)
	}
}

// TestBlocksAreLifted would catch a cluster of one node that is set aside for ten minutes, and a
// restart strategy that is asked twice about one fault.
func TestBlocksAreLifted(t *testing.T) {
	t.Parallel()
	var b Blocklist
	b.Block(start.Add(BlockTime), "n1", "disk full")
	b.Lift(start.Add(time.Second))
	if !b.Lifted().Equal(start.Add(time.Second)) || b.Expire(start) || !b.Expire(start.Add(time.Second)) || !b.Empty() {
		t.Errorf("lifted at %s, blocked: %v", b.Lifted(), names(b.Nodes()))
	}
	b.Block(start.Add(time.Minute).Add(BlockTime), "n1", "disk full again")
	if next, _ := b.Next(); !b.Lifted().IsZero() || !next.Equal(start.Add(time.Minute+BlockTime)) {
		t.Errorf("the next fault is lifted at %s, and ends at %s", b.Lifted(), next)
	}
}

func TestTheBlocklistIsBounded(t *testing.T) {
	t.Parallel()
	var b Blocklist
	for i := range 10 * maxBlocked {
		b.Block(start.Add(BlockTime), fmt.Sprint("n", i), "disk full")
	}
	if nodes := b.Nodes(); len(nodes) != maxBlocked || nodes[maxBlocked-1].Node != fmt.Sprint("n", 10*maxBlocked-1) {
		t.Errorf("%d nodes are blocked, the last of them %s", len(nodes), nodes[len(nodes)-1].Node)
	}
}

// TestReasonsOfManyBlocksAreBrief would catch reasons that take more memory than is reserved for
// the job. It would also catch that the newest reasons are cut, or the ends of the older ones,
// which say what went wrong.
func TestReasonsOfManyBlocksAreBrief(t *testing.T) {
	t.Parallel()
	var b Blocklist
	cause := strings.Repeat("ä", 500) + ": no space left on device"
	for i := range 2 * maxBlocked {
		b.Block(start.Add(BlockTime), fmt.Sprintf("n%d", i), cause)
	}
	size := 0
	for i, n := range b.Nodes() {
		size += len(n.Cause)
		if whole := i >= maxBlocked-maxWhole; whole != (n.Cause == cause) || !utf8.ValidString(n.Cause) || !strings.HasSuffix(n.Cause, ": no space left on device") {
			t.Errorf("block %d of %d is for %q", i, maxBlocked, n.Cause)
		}
	}
	if size > 16<<10 {
		t.Errorf("reasons of %d bytes", size)
	}
}
