package exchange

import (
	"testing"
	"testing/synctest"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// TestAHeldBackGateOpensNoChannels would catch two hosts that wait for each other: each holds its last place at a busy Server for an input
// that it will read later, and is refused for the one that it reads now.
func TestAHeldBackGateOpensNoChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newQuietServer(t)
		e := s.reader(s.bubble.Dial)
		g := e.Gate(t.Context(), []Producer{{Host: "w", Address: "w", Finished: true}})
		if connections, _ := s.connected(); connections != 0 || e.Reserved() != 0 {
			t.Errorf("before its task reads, a gate has %d connections and %d buffers", connections, e.Reserved())
		}
		if item, _, err := g.Poll(); item == operator.EndOfData || err != nil { // a record may be there at once
			t.Fatalf("the first poll gives %v, %v", item, err)
		}
		if connections, channels := s.connected(); connections != 1 || channels != 1 {
			t.Errorf("then it has %d connections with %d channels", connections, channels)
		}
		g.Close()
	})
}
