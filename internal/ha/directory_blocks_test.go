package ha

import (
	"testing"
	"time"
)

// The test would catch a recovery that waits for ever, because each read of a lost block takes longer than the pauses that
// begin a new period; and blocks that count as lost at the first failure, because others were lost an hour ago.
func TestLostBlocksAreGivenUpHoweverLongAReadTakes(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{0, time.Minute, 6 * time.Minute, 12 * time.Minute} {
		var l lostBlocks
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 2 { // the second time an hour later
			begin := now
			for reads := 1; ; reads++ {
				began := now
				now = now.Add(takes)
				if l.over(began, now) {
					break
				}
				if now.Sub(begin) > time.Hour {
					t.Fatalf("reads of %v: %d in %v, and no end", takes, reads, now.Sub(begin))
				}
				now = now.Add(time.Second)
			}
			if lasts := now.Sub(begin); lasts < blockPatience || lasts > 2*blockPatience {
				t.Errorf("reads of %v: given up after %v", takes, lasts)
			}
			now = now.Add(time.Hour)
		}
	}
}
