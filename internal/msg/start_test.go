package msg

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var startEpoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(seconds int) time.Time { return startEpoch.Add(time.Duration(seconds) * time.Second) }

// bare leaves the details out, which are only words.
func bare(spans []Span) (all []Span) {
	for _, s := range spans {
		s.Detail = ""
		all = append(all, s)
	}
	return all
}

// TestStartOfAJob would catch a start that goes on after the end of its job, one that ends before it begins, because the next
// master has set its clock back, steps that have no begin, and a start that includes restarts, or the time of an earlier master.
func TestStartOfAJob(t *testing.T) {
	t.Parallel()
	const slots = "slots asked for"
	started := map[JobStatus]time.Time{JobInitializing: after(0), JobCreated: after(1), JobRunning: after(1)}
	restarted := map[JobStatus]time.Time{JobInitializing: after(0), JobCreated: after(1), JobRestarting: after(8), JobRunning: after(9)}
	for name, c := range map[string]struct {
		job     JobDetails
		granted time.Time
		want    []Span
	}{
		"it is being stored": {
			JobDetails{Timestamps: map[JobStatus]time.Time{JobInitializing: after(0)}},
			time.Time{},
			[]Span{{Name: "job accepted", Begin: after(0)}},
		},
		"it waits for its first worker": {
			JobDetails{Timestamps: started}, time.Time{}, []Span{{Name: "job accepted", Begin: after(0), End: after(1)}, {Name: slots, Begin: after(1)}},
		},
		"it has ended meanwhile": {
			JobDetails{Timestamps: started, End: after(9)}, after(0), []Span{{Name: "job accepted", Begin: after(0), End: after(1)}, {Name: slots, Begin: after(1), End: after(9)}},
		},
		"a container has come": {
			JobDetails{Timestamps: started},
			after(4),
			[]Span{{Name: "job accepted", Begin: after(0), End: after(1)}, {Name: "containers asked for", Begin: after(1), End: after(4)}, {Name: "first worker", Begin: after(4)}},
		},
		"it runs": {
			JobDetails{Timestamps: started, Steps: []Step{{StepWorker, after(2)}, {StepHost, after(4)}, {StepDeployed, after(3)}, {StepRunning, after(5)}}},
			after(3),
			[]Span{
				{Name: "job accepted", Begin: after(0), End: after(1)},
				{Name: slots, Begin: after(1), End: after(2)},
				{Name: "first task host", Begin: after(2), End: after(4)},
				{Name: "slots for the first tasks", Begin: after(4), End: after(4)},
				{Name: "deployment", Begin: after(3), End: after(5)},
			},
		},
		"it has restarted": {
			JobDetails{Timestamps: restarted, Steps: []Step{{StepWorker, after(2)}}},
			time.Time{},
			[]Span{{Name: "job accepted", Begin: after(0), End: after(1)}, {Name: slots, Begin: after(1), End: after(2)}, {Name: "first task host", Begin: after(2)}},
		},
		"it is being recovered": {
			JobDetails{Start: after(0), Timestamps: map[JobStatus]time.Time{JobInitializing: after(3600)}, Steps: []Step{{StepRecovered, after(3600)}}},
			time.Time{},
			[]Span{{Name: "job recovered", Begin: after(3600)}},
		},
		"it was recovered": {
			JobDetails{
				Start:      after(0),
				Timestamps: map[JobStatus]time.Time{JobInitializing: after(3600), JobCreated: after(3601), JobRunning: after(3601)},
				Steps:      []Step{{StepRecovered, after(3600)}, {StepWorker, after(3604)}},
			},
			time.Time{},
			[]Span{{Name: "job recovered", Begin: after(3600), End: after(3601)}, {Name: slots, Begin: after(3601), End: after(3604)}, {Name: "first task host", Begin: after(3604)}},
		},
		"nothing is known": {JobDetails{Status: JobFailed, End: after(1)}, time.Time{}, nil},
	} {
		if diff := cmp.Diff(c.want, bare(StartOf(&c.job, c.granted))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAStartEndsWhereNothingFollows would catch a session whose start lasts until its first job of the next day, and one that
// is over although a worker is still awaited.
func TestAStartEndsWhereNothingFollows(t *testing.T) {
	t.Parallel()
	span := func(begin, end int) Span {
		s := Span{Begin: after(begin)}
		if end > 0 {
			s.End = after(end)
		}
		return s
	}
	for name, c := range map[string]struct {
		spans []Span
		now   int
		want  []Span
		over  bool
	}{
		"in order":            {[]Span{span(3, 4), span(1, 2), {}}, 30, []Span{span(1, 2), span(3, 4)}, false},
		"after a while":       {[]Span{span(1, 2)}, 63, []Span{span(1, 2)}, true},
		"a job the day after": {[]Span{span(1, 2), span(90000, 90001)}, 90001, []Span{span(1, 2)}, true},
		"a long wait":         {[]Span{span(1, 900), span(2, 3), span(901, 902)}, 910, []Span{span(1, 900), span(2, 3), span(901, 902)}, false},
		"a worker is awaited": {[]Span{span(1, 2), span(2, 0), span(200, 201)}, 900, []Span{span(1, 2), span(2, 0), span(200, 201)}, false},
	} {
		if got, over := Begin(c.spans, after(c.now)); over != c.over || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %v, over %v; want %v, %v", name, got, over, c.want, c.over)
		}
	}
}
