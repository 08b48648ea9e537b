package executiongraph

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestRatesAreThoseOfTheLastSeconds would catch a rate over the whole life of a task, one that stays when the task has come to a
// stand, and one that falls between two reports of a task that works on.
func TestRatesAreThoseOfTheLastSeconds(t *testing.T) {
	t.Parallel()
	const interval = time.Second
	e := Execution{State: msg.ExecutionRunning}
	e.Entered.Enter(msg.ExecutionDeploying, now)
	at := func(second float64) time.Time { return now.Add(time.Duration(second * float64(time.Second))) }
	report := func(second, records int64, idle time.Duration, does msg.TaskActivity) {
		e.Report(msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: records}, Activity: msg.Activity{Idle: idle, Now: does}}, at(float64(second)))
	}
	expect := func(second, records, idle float64) {
		t.Helper()
		s := e.Sample(at(second), interval)
		if got := s.Rate(func(m msg.TaskMetrics) int64 { return m.ReadRecords }); got != records {
			t.Errorf("after %v s: %v records in a second, want %v", second, got, records)
		}
		if got, _ := s.Shares(); got.Idle != idle {
			t.Errorf("after %v s: idle for %v of the time, want %v", second, got.Idle, idle)
		}
	}
	expect(0.5, 0, 0) // nothing is known
	for second := range int64(20) {
		report(second+1, 100*(second+1), 0, msg.TaskBusy)
	}
	expect(20, 100, 0)
	expect(21.5, 100, 0) // the next report is on its way
	for second := range int64(10) {
		report(21+second, 2000+1000*(second+1), 0, msg.TaskBusy)
	}
	expect(30, 1000, 0) // and not the mean of 30 s
	report(31, 12_000, 0, msg.TaskIdle)
	expect(41, 5000/16., 10/16.) // it says nothing, because nothing changes; the rates begin at 25 s
	e.State = msg.ExecutionFinished
	e.Entered.Enter(e.State, at(41))
	e.Ends(msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: 12_000}, Activity: msg.Activity{Idle: 10 * time.Second, BackPressured: time.Second}})
	expect(50, 0, 0)
	want := msg.TaskTimes{Busy: 30 * time.Second, Idle: 10 * time.Second, BackPressured: time.Second}
	if got := e.Times(at(50)); got != want {
		t.Errorf("it took %+v, want %+v", got, want)
	}
}

// TestTimesGoOnBetweenReports would catch a task that waits for an hour and seems to have done nothing since its last report.
func TestTimesGoOnBetweenReports(t *testing.T) {
	t.Parallel()
	e := Execution{State: msg.ExecutionRunning}
	e.Entered.Enter(msg.ExecutionDeploying, now)
	e.Report(msg.TaskMetrics{Activity: msg.Activity{Idle: time.Second, Now: msg.TaskBackPressured}}, now.Add(3*time.Second))
	want := msg.TaskTimes{Busy: 2 * time.Second, Idle: time.Second, BackPressured: time.Hour}
	if got := e.Times(now.Add(3*time.Second + time.Hour)); got != want {
		t.Errorf("it took %+v, want %+v", got, want)
	}
}

// TestOnlyARunningTaskHasShares would catch a task that seems to be busy before its host has reported anything, or when it has
// ended.
func TestOnlyARunningTaskHasShares(t *testing.T) {
	t.Parallel()
	e := Execution{State: msg.ExecutionRunning}
	e.Entered.Enter(msg.ExecutionDeploying, now)
	later := now.Add(4 * time.Second)
	if got, is := e.Sample(later, time.Second).Shares(); is {
		t.Errorf("nothing was reported, and it has %+v", got)
	}
	e.Report(msg.TaskMetrics{Activity: msg.Activity{Idle: time.Second, BackPressured: 2 * time.Second}}, later)
	want := msg.TaskShares{Busy: 0.25, Idle: 0.25, BackPressured: 0.5}
	if got, is := e.Sample(later, time.Second).Shares(); !is || got != want {
		t.Errorf("it has %+v, want %+v", got, want)
	}
	e.State = msg.ExecutionFinished
	e.Entered.Enter(e.State, later)
	e.Ends(msg.TaskMetrics{})
	if got, is := e.Sample(later, time.Second).Shares(); is {
		t.Errorf("it has ended, and has %+v", got)
	}
}
