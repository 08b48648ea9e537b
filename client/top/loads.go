package top

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
)

const (
	loadInterval = 5 * time.Second // between two questions for loads, which workers report as rarely
	mostLoading  = time.Second     // after it, a look asks for no further load
)

// loads are the questions for what workers use. One goroutine at a time uses them.
type loads struct {
	asked time.Time // when the last ones were asked for
	from  int       // the next one, counted through all workers on the screen: each has its turn
}

// ask asks for the loads of some workers, of as many as there is time for. The error is that of an ApplicationMaster that does
// not answer; any answer is about one worker alone.
func (l *loads) ask(ctx context.Context, of master, workers []string) (map[string]client.Load, error) {
	found := make(map[string]client.Load, len(workers))
	began := time.Now()
	if began.Sub(l.asked) < loadInterval {
		return found, nil
	}
	for n := 0; n < len(workers) && (n == 0 || time.Since(began) < mostLoading); n++ {
		worker := workers[l.from%len(workers)]
		l.from++
		load, err := within(ctx, func(ctx context.Context) (client.Load, error) { return of.Load(ctx, worker) })
		if err != nil && !client.Answered(err) {
			return found, err
		}
		found[worker] = load
	}
	if len(workers) > 0 {
		l.asked = time.Now()
	}
	return found, nil
}
