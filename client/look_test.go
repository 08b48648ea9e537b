package client

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestWhyAJobWaits would catch a command that shows nothing of a wait, also with an ApplicationMaster of an earlier
// release, and one that takes an unknown job for an error.
func TestWhyAJobWaits(t *testing.T) {
	t.Parallel()
	noon := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	const slots = `{"slotsTotal":2,"containersRequested":1,"requestedSince":1000,"jobs":[{"jid":"1","slotsNeeded":2,"slotsHeld":0,"waitsSince":1000}]}`
	for _, c := range []struct {
		name    string
		answers map[string]string // by path; others are 404
		want    string            // the beginning; "": it does not wait
	}{
		{"in words", map[string]string{"/jobs/1/waiting": `{"waiting":true,"since":1000,"words":"the queue is full"}`}, "the queue is full"},
		{"in words with a time", map[string]string{"/jobs/1/waiting": `{"waiting":true,"since":1000,"words":"since 1 Jan 2000 12:00:00 UTC"}`}, "since " + noon.Local().Format(time.DateTime)},
		{"it does not wait", map[string]string{"/jobs/1/waiting": `{"waiting":false,"words":""}`, "/slots": slots}, ""},
		{"of an earlier release", map[string]string{"/slots": slots}, "waits for slots: it needs 2 slots and has 0"},
		{"unknown", map[string]string{"/slots": `{"jobs":[]}`}, ""},
		{"of the first release", nil, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, known := c.answers[r.URL.Path]
			if !known {
				w.WriteHeader(http.StatusNotFound)
			}
			fmt.Fprint(w, answer)
		}))
		asked := newClusterClient(server.URL, &http.Transport{})
		words, since, err := asked.Waiting(t.Context(), "1")
		if err != nil || !strings.HasPrefix(words, c.want) || (words == "") != (c.want == "") || since.IsZero() != (c.want == "") {
			t.Errorf("%s: %q since %v, %v", c.name, words, since, err)
		}
		asked.Close()
		server.Close()
	}
}

// TestTheMastersClockCounts would catch a worker whose heartbeat seems to be an hour ago, and a job that seems to run for an
// hour, because this machine's clock is an hour ahead; and a time before the start, because the header has whole seconds.
func TestTheMastersClockCounts(t *testing.T) {
	t.Parallel()
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", then.UTC().Format(http.TimeFormat))
		if r.URL.Path == "/jobs/overview" {
			fmt.Fprintf(w, `{"jobs":[{"jid":"1","start-time":%d,"end-time":-1,"duration":4000}, {"jid":"2","start-time":-1,"end-time":-1,"duration":-1}]}`, then.UnixMilli()-4000)
			return
		}
		fmt.Fprintf(w, `{"taskmanagers":[{"timeSinceLastHeartbeat":%d},{"timeSinceLastHeartbeat":%d}]}`, then.UnixMilli()-3000, then.UnixMilli()+900)
	}))
	defer server.Close()
	asked := newClusterClient(server.URL, &http.Transport{})
	defer asked.Close()
	workers, err := asked.Workers(t.Context())
	if err != nil || len(workers) != 2 || workers[0].Silent != 3*time.Second || workers[1].Silent != 0 {
		t.Errorf("workers %+v, %v", workers, err)
	}
	jobs, err := asked.Jobs(t.Context())
	if err != nil || len(jobs) != 2 || jobs[0].Lasts != 4*time.Second || jobs[1].Lasts != 0 {
		t.Errorf("jobs %+v, %v", jobs, err)
	}
}

// TestALoadThatIsNotReportedIsNotKnown would catch a worker that seems to use nothing before its first report, and a
// number that is none.
func TestALoadThatIsNotReportedIsNotKnown(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]Load{
		`[]`: {},
		`[{"id":"Status.Process.Memory.Resident","value":"32034816"},{"id":"Status.Go.CPU.Load","value":"0.25"}]`: {Memory: 32034816, CPU: 0.25, Known: true},
		`[{"id":"Status.Process.Memory.Resident"},{"id":"Status.Go.CPU.Load","value":"much"}]`:                    {},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		asked := newClusterClient(server.URL, &http.Transport{})
		if got, err := asked.Load(t.Context(), "container_1"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", answer, got, err)
		}
		asked.Close()
		server.Close()
	}
}
