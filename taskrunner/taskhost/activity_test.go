package taskhost

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestActivitySumsUpWaits would catch a wait that counts only when it is over, one that counts as another, and a task that seems
// idle after its wait.
func TestActivitySumsUpWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := newActivity(func() time.Time { return now })
	in, out := a.forInput(), a.forConsumers()
	var want msg.Activity
	for i, step := range []struct {
		do   func()
		does msg.TaskActivity
	}{
		{func() {}, msg.TaskBusy},
		{in.Wait, msg.TaskIdle},
		{in.Resume, msg.TaskBusy},
		{out.Wait, msg.TaskBackPressured},
		{out.Resume, msg.TaskBusy},
		{in.Wait, msg.TaskIdle},
	} {
		step.do()
		want.Now = step.does
		if got := a.measured(); got != want {
			t.Fatalf("step %d: %+v, want %+v", i, got, want)
		}
		now = now.Add(time.Second)
		switch step.does {
		case msg.TaskIdle:
			want.Idle += time.Second
		case msg.TaskBackPressured:
			want.BackPressured += time.Second
		}
		if got := a.measured(); got != want {
			t.Fatalf("a second after step %d: %+v, want %+v", i, got, want)
		}
	}
}
