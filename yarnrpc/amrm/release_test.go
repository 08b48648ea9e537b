package amrm

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAReleaseIsSentAgain would catch a container of an earlier attempt that runs on for as long as its application: YARN
// drops its first release, because the NodeManager is away, and lists the container later.
func TestAReleaseIsSentAgain(t *testing.T) {
	c := newCore()
	id := records.ContainerID{Attempt: testAttempt, ID: 2}
	for i := range int32(3) {
		c.release([]records.ContainerID{id, id})
		if sent := c.next(time.Time{}, 1).release; len(sent) != 1 || sent[0] != id {
			t.Errorf("release %d sends %v", i+1, sent)
		}
		c.answered(answer{responseID: i + 1})
		if c.pending() {
			t.Error("a release that YARN has is sent again, and nobody asked for it")
		}
	}
}
