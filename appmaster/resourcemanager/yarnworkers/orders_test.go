package yarnworkers

import (
	"slices"
	"testing"
	"time"
)

// TestOrdersKnowWhenTheyWereMade would catch a container that has waited as long as another one, one that counts from an order that
// was withdrawn, and orders that grow with each repetition.
func TestOrdersKnowWhenTheyWereMade(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(1000+int64(s), 0) }
	var o orders
	o.set(at(0), 2)
	o.set(at(0), 2)
	o.set(at(5), 5)
	var waited []time.Duration
	take := func(s int) { waited = append(waited, o.take(at(s))) }
	take(6)
	o.set(at(7), 2) // two of the newer ones are withdrawn
	take(8)
	take(9)
	o.set(at(9), 0)
	take(10) // YARN gave more than was ordered
	o.set(at(20), 1)
	take(23)
	if want := []time.Duration{6 * time.Second, 8 * time.Second, 4 * time.Second, 0, 3 * time.Second}; !slices.Equal(waited, want) || len(o) != 0 {
		t.Errorf("waited %v, want %v; left %v", waited, want, o)
	}
}
