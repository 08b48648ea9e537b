package yarnrpc

import (
	"testing"
	"time"
)

// Waits that do not grow overload a server that is down. Waits without a limit never end.
// A thousand clients without random waits return at the same moment.
func TestWaitsGrowToTheirLimitAndAreSpread(t *testing.T) {
	p := Policy{BaseDelay: time.Second, MaxDelay: 10 * time.Second}
	for n, seconds := range map[int]int{0: 1, 1: 2, 2: 4, 3: 8, 4: 10, 5: 10, 1000: 10} {
		want := time.Duration(seconds) * time.Second
		for random, times := range map[float64]time.Duration{0: want / 2, 0.5: want, 0.75: want * 5 / 4} {
			if got := p.delay(n, random); got != times {
				t.Errorf("wait %d at %v is %v, want %v", n, random, got, times)
			}
		}
		if got := p.delay(n, 0.999999); got >= want*3/2 {
			t.Errorf("wait %d is up to %v", n, got)
		}
	}
	for _, p := range []Policy{{BaseDelay: time.Second}, {}, {BaseDelay: time.Second, MaxDelay: time.Millisecond}} {
		for n := range 3 {
			if least, most := p.delay(n, 0), p.delay(n, 0.75); least != time.Second/2 || most != time.Second*5/4 {
				t.Errorf("%+v: wait %d is from %v to %v", p, n, least, most)
			}
		}
	}
}
