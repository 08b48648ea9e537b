package dispatcher

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// fullDetails has all that a job's details may have.
func fullDetails() msg.JobDetails {
	failure := msg.ExceptionEntry{
		Time: testEpoch, Failure: msg.Failure{Message: "disk is full", Stack: "main.f()", Permanent: true, PeerLost: "h1"},
		Task: "v (1/2)", Location: "n1", Resource: "w1",
	}
	return msg.JobDetails{
		ID: "j1", Name: "word count", Status: msg.JobFailed, Start: testEpoch, End: testEpoch.Add(time.Nanosecond),
		Timestamps: map[msg.JobStatus]time.Time{msg.JobFailed: testEpoch},
		Vertices: []msg.VertexDetails{{
			ID: "0", Name: "v", Parallelism: 2, Group: "g", Status: msg.ExecutionFailed, Start: testEpoch, End: testEpoch,
			Tasks: map[msg.ExecutionState]int{msg.ExecutionFailed: 2}, Traffic: msg.Traffic{ReadRecords: 1, WriteBytes: 2},
			Inputs: []msg.VertexInput{{Vertex: "1", Pattern: "pointwise"}}, Subtasks: []byte{1, 2, 3}, Counters: map[string]int64{"words": 1 << 60},
		}},
		Restarts: 3, Root: &failure, Exceptions: []msg.ExceptionEntry{failure}, TaskFailures: []msg.ExceptionEntry{failure},
		Counters: map[string]int64{"words": 1 << 60}, Steps: []msg.Step{{Name: "created", At: testEpoch}}, Parallelism: 4,
		Config: map[string]string{"a": "b"}, Note: "it runs in waves",
	}
}

// TestAResultIsReadAsItWas would catch a part of an ended job that the next master does not know, and a job without results
// that is taken for one that was not run.
func TestAResultIsReadAsItWas(t *testing.T) {
	t.Parallel()
	details := fullDetails()
	for name, results := range map[string]collect.Results{
		"two": {"b": filled(t, collect.LeastBuffered, 100), "a": filled(t, collect.LeastBuffered, 1)}, "none": {}, "not run": nil,
	} {
		want := result{Identity: identity{Name: details.Name, Digest: "d", Arguments: "a"}, Details: &details, Results: results}
		body, err := encodeResult(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeResult(body, "j1", msg.JobFailed)
		buffer := cmp.Comparer(func(a, b *collect.Buffer) bool { return string(a.AppendTo(nil)) == string(b.AppendTo(nil)) })
		if diff := cmp.Diff(want, got, buffer, cmpopts.IgnoreUnexported(msg.Traffic{})); err != nil || diff != "" {
			t.Errorf("%s: error %v, (-want +got):\n%s", name, err, diff)
		}
		for n := range body {
			if _, err := decodeResult(body[:n], "j1", msg.JobFailed); !errors.Is(err, errMalformed) {
				t.Errorf("%s: %d of %d bytes: error %v", name, n, len(body), err)
			}
		}
		for what, err := range map[string]error{
			"a byte too many": second(decodeResult(append(body, 0), "j1", msg.JobFailed)),
			"of another job":  second(decodeResult(body, "j2", msg.JobFailed)),
			"another status":  second(decodeResult(body, "j1", msg.JobFinished)),
		} {
			if !errors.Is(err, errMalformed) {
				t.Errorf("%s, %s: error %v", name, what, err)
			}
		}
	}
}

func second(_ result, err error) error { return err }

// TestASubmissionIsReadAsItWas would catch a job that is run again with another program, or without its client.
func TestASubmissionIsReadAsItWas(t *testing.T) {
	t.Parallel()
	want := Submission{
		Job: "j1", Program: msg.Program{Name: "wordcount", SHA256: strings.Repeat("0", 64), URI: "hdfs://cluster/p"}, Detached: true, ClientTimeout: time.Minute,
	}
	text, err := encodeSubmission(want, testEpoch)
	if err != nil {
		t.Fatal(err)
	}
	got, at, err := decodeSubmission("j1", text)
	if diff := cmp.Diff(want, got); err != nil || diff != "" || !at.Equal(testEpoch) {
		t.Errorf("submitted at %s, error %v, (-want +got):\n%s", at, err, diff)
	}
	for name, text := range map[string]string{
		"nothing": "", "no version": "{}", "another version": `{"version":2}`, "a negative time": `{"version":1,"client-timeout":-1}`,
		"no submission": "[]", "too much": `{"version":1,"program":{"uri":"` + strings.Repeat("x", maxSubmission) + `"}}`,
	} {
		if _, _, err := decodeSubmission("j1", []byte(text)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// FuzzStored would catch stored bytes that crash the ApplicationMaster, attempt after attempt.
func FuzzStored(f *testing.F) {
	details := fullDetails()
	body, err := encodeResult(result{Identity: identity{Digest: "d"}, Details: &details, Results: collect.Results{"a": filled(f, collect.LeastBuffered, 1)}})
	if err != nil {
		f.Fatal(err)
	}
	text, err := encodeSubmission(Submission{ClientTimeout: time.Minute}, testEpoch)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add(text)
	f.Add([]byte{2, '{', '}'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, _, err := decodeSubmission("j1", data); err == nil && s.ClientTimeout < 0 || err != nil && !errors.Is(err, errMalformed) {
			t.Fatalf("submission %+v, error %v", s, err)
		}
		r, err := decodeResult(data, "j1", msg.JobFailed)
		if err != nil {
			if !errors.Is(err, errMalformed) {
				t.Fatalf("error %v", err)
			}
			return
		}
		core := newCore(configured(Session))
		core.Step(testEpoch, recovered{Recovered{Results: []ha.ResultEntry{{ID: "j1", Status: msg.JobFailed}}}})
		core.Step(testEpoch, jobAsked{Job: "j1"})
		core.Step(testEpoch, resultLoaded{Job: "j1", Result: r})
		core.Step(testEpoch, resultAsked{Job: "j1"})
		for name := range r.Results {
			core.Step(testEpoch, pageAsked{Job: "j1", Name: name})
		}
	})
}
