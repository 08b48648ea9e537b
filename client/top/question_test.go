package top

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAUserWhoMovesOnAndOnLeavesTheMasterTime would catch a key that is held down and keeps a slow ApplicationMaster busy all the
// time.
func TestAUserWhoMovesOnAndOnLeavesTheMasterTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes, watched = time.Second, time.Minute
		var asked atomic.Int32
		q := newQuestion(nil, func(func(Event)) time.Duration {
			asked.Add(1)
			<-time.After(takes)
			return time.Hour
		})
		defer q.end()
		key := time.NewTicker(30 * time.Millisecond)
		defer key.Stop()
		for ends := time.After(watched); ; {
			select {
			case <-q.due.C:
				q.begin()
			case a := <-q.answers:
				q.answered(a)
			case <-key.C:
				if q.soon(); asked.Load() == 0 {
					t.Fatal("the first question is not asked at once")
				}
			case <-ends:
				if most, got := int(watched/takes/2), int(asked.Load()); got > most+1 || got < most/2 {
					t.Errorf("asked %d times in %v, each of %v", got, watched, takes)
				}
				return
			}
		}
	})
}
