package flinkrest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The corpus of these tests: running jobs, ended jobs, unknown jobs.
const (
	runs    = "a job that runs"
	ended   = "a job that has ended"
	unknown = "an unknown job"
	asJSON  = "application/json; charset=UTF-8"
)

func testCorpus() *Corpus {
	answer := func(of string, status int, body string) Answer {
		return Answer{Case: of, Status: status, Type: asJSON, Body: json.RawMessage(body)}
	}
	return &Corpus{
		Flink: Flink{Values: map[string][]string{
			"JobStatus":      {"INITIALIZING", "CREATED", "RUNNING", "FAILED", "CANCELLING", "CANCELED", "FINISHED"},
			"ExecutionState": {"CREATED", "SCHEDULED", "RUNNING", "FAILED", "CANCELING", "CANCELED", "FINISHED"},
		}},
		Endpoints: []Endpoint{
			{Method: "GET", Path: "/jobs/:jobid", Answers: []Answer{
				answer(runs, 200, `{"jid": "0123456789abcdef0123456789abcdef", "state": "RUNNING", "start-time": 1700000000000, "end-time": -1, "duration": 7, "busy": 0.5, "cause": null,
					"user-config": {}, "tasks": {"CREATED": 0, "SCHEDULED": 0, "RUNNING": 2, "FINISHED": 0}, "vertices": [{"name": "count", "host": null}, {"name": "read", "host": "a"}]}`),
				answer(ended, 200, `{"jid": "0123456789abcdef0123456789abcdef", "state": "FAILED", "start-time": 1700000000000, "end-time": 1700000000007, "duration": 7, "busy": "NaN", "cause": "boom",
					"user-config": {"a": "b"}, "tasks": {"CREATED": 0, "SCHEDULED": 0, "RUNNING": 0, "FINISHED": 2}, "vertices": [], "result": {"net": 1}}`),
				answer(unknown, 404, `{"errors": ["no such job"]}`),
			}},
			{Method: "GET", Path: "/jobs/metrics", Answers: []Answer{answer(runs, 200, `[]`)}},
		},
	}
}

// running is an answer of ours that is equal to Flink's.
const running = `{"jid": "ffffffffffffffffffffffffffffffff", "state": "FINISHED", "start-time": 1800000000000, "end-time": -1, "duration": 0, "busy": 0, "cause": null,
	"user-config": {"own": "x"}, "tasks": {"CREATED": 1, "SCHEDULED": 0, "RUNNING": 0, "FINISHED": 0}, "vertices": [{"name": "map", "host": "b"}]}`

// found compares one answer with the test's corpus, and returns the differences.
func found(t *testing.T, of string, got Got) []string {
	t.Helper()
	corpus := testCorpus()
	c := NewComparison(corpus)
	if err := c.Add(corpus.Find("GET", "/jobs/{job}"), of, got); err != nil {
		t.Fatal(err)
	}
	return append(unlisted(c.found, nil), unlisted(c.beyond, nil)...)
}

// TestDifferencesAreFound changes one thing at a time in an answer that is equal to Flink's. It would catch
// a comparison that misses such a change, or reports another.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	const at = "GET /jobs/:jobid $"
	for name, test := range map[string]struct {
		old, changed string
		want         []string
	}{
		"nothing":                       {"", "", nil},
		"a field is missing":            {`"duration": 0, `, ``, []string{at + ".duration: missing"}},
		"a field has another name":      {`"duration"`, `"Duration"`, []string{at + ".duration: missing", at + ".Duration: a field of ours"}},
		"a field of ours":               {`"duration"`, `"more": 1, "duration"`, []string{at + ".more: a field of ours"}},
		"a field that others have":      {`"duration"`, `"result": {"net": 1}, "duration"`, nil},
		"that field, otherwise":         {`"duration"`, `"result": {}, "duration"`, []string{at + ".result.net: missing"}},
		"a text for a number":           {`"duration": 0`, `"duration": "0"`, []string{at + ".duration: string, Flink's is integer"}},
		"a fraction for a whole number": {`"duration": 0`, `"duration": 0.5`, []string{at + ".duration: number, Flink's is integer"}},
		"a whole number for a fraction": {`"busy": 0`, `"busy": 7`, nil},
		"a text where Flink has both":   {`"busy": 0`, `"busy": "NaN"`, nil},
		"null that Flink never has":     {`"duration": 0`, `"duration": null`, []string{at + ".duration: null, Flink's is integer"}},
		"null that Flink has":           {`"host": "b"`, `"host": null`, nil},
		"a value where Flink has null":  {`"cause": null`, `"cause": "boom"`, nil},
		"another type than null":        {`"cause": null`, `"cause": 7`, []string{at + ".cause: integer, Flink's is null or string"}},
		"an object for a list":          {`"vertices": [{"name": "map", "host": "b"}]`, `"vertices": {}`, []string{at + ".vertices: object, Flink's is array"}},
		"a field of an element":         {`"name": "map", `, ``, []string{at + ".vertices[].name: missing"}},
		"a type in an element":          {`"name": "map"`, `"name": true`, []string{at + ".vertices[].name: boolean, Flink's is string"}},
		"no elements":                   {`{"name": "map", "host": "b"}`, ``, nil},
		"a state is missing":            {`"SCHEDULED": 0, `, ``, []string{at + ".tasks.SCHEDULED: missing"}},
		"a state too many":              {`"SCHEDULED": 0, `, `"SCHEDULED": 0, "WAITING": 0, `, []string{at + ".tasks.WAITING: no state of Flink's"}},
		"a state of another name":       {`"SCHEDULED": 0, `, `"scheduled": 0, `, []string{at + ".tasks.SCHEDULED: missing", at + ".tasks.scheduled: no state of Flink's"}},
		"names that are data":           {`"own": "x"`, `"any": "y", "name": "z"`, nil},
		"values at names that are data": {`"own": "x"`, `"any": 7`, []string{at + ".user-config.*: integer, Flink's is string"}},
		"a time in seconds":             {`1800000000000`, `1800000000`, []string{at + ".start-time: no point in time in ms, as Flink's is"}},
		"a time that has not come":      {`1800000000000`, `-1`, nil},
		"a time as a duration":          {`"duration": 0`, `"duration": 1800000000000`, []string{at + ".duration: a point in time, Flink's is none"}},
		"an id that is none":            {`"ffffffffffffffffffffffffffffffff"`, `"job-1"`, []string{at + ".jid: no id of 32 hex digits, as Flink's is"}},
		"a value of no enumeration":     {`"state": "FINISHED"`, `"state": "CANCELING"`, []string{at + ".state: no value of Flink's JobStatus"}},
		"a list for all":                {running, `[]`, []string{at + ": array, Flink's is object"}},
		"something else than JSON":      {running, `<html>`, []string{"GET /jobs/:jobid (a job that runs): no JSON"}},
		"two values":                    {running, running + running, []string{"GET /jobs/:jobid (a job that runs): no JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.Replace(running, test.old, test.changed, 1)
			if test.old != "" && body == running {
				t.Fatal("nothing is changed")
			}
			if diff := cmp.Diff(test.want, found(t, runs, Got{200, asJSON, []byte(body)})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCasesDiffer would catch a missing field that only ended jobs have in Flink, and that is accepted
// because running jobs do not have it; and a status that is compared with another case's.
func TestCasesDiffer(t *testing.T) {
	t.Parallel()
	const page = "text/html"
	refusal := []byte(`{"errors": ["none"]}`)
	for name, test := range map[string]struct {
		of   string
		got  Got
		want []string
	}{
		"a field of this case":      {ended, Got{200, asJSON, []byte(running)}, []string{"GET /jobs/:jobid $.result: missing"}},
		"a refusal as Flink's":      {unknown, Got{404, asJSON, refusal}, nil},
		"a refusal of another sort": {unknown, Got{400, asJSON, refusal}, []string{"GET /jobs/:jobid (an unknown job): status 400, Flink's is 404"}},
		"a refusal of other form":   {unknown, Got{404, asJSON, []byte(`{"error": "none"}`)}, []string{"GET /jobs/:jobid (an unknown job) $.errors: missing", "GET /jobs/:jobid (an unknown job) $.error: a field of ours"}},
		"success for a refusal":     {unknown, Got{200, asJSON, []byte(running)}, []string{"GET /jobs/:jobid (an unknown job): status 200, Flink's is 404"}},
		"a refusal for success":     {runs, Got{404, asJSON, refusal}, []string{"GET /jobs/:jobid (a job that runs): status 404, Flink's is 200"}},
		"another success":           {runs, Got{202, asJSON, []byte(running)}, []string{"GET /jobs/:jobid (a job that runs): status 202, Flink's is 200"}},
		"another type":              {runs, Got{200, page, []byte(running)}, []string{`GET /jobs/:jobid (a job that runs): content type "text/html", Flink's is "application/json; charset=UTF-8"`}},
		"the type in other letters": {runs, Got{200, "application/json;charset=utf-8", []byte(running)}, nil},
		"the type without charset":  {runs, Got{200, "application/json", []byte(running)}, []string{`GET /jobs/:jobid (a job that runs): content type "application/json", Flink's is "application/json; charset=UTF-8"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, found(t, test.of, test.got)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
	c := NewComparison(testCorpus())
	if err := c.Add(&c.corpus.Endpoints[0], "a job of another sort", Got{}); err == nil {
		t.Error("a case that was not recorded is compared")
	}
}

// TestTheListMayOnlyShrink would catch an entry that stays when its field is built, a difference without an
// entry, and an entry whose place is never compared.
func TestTheListMayOnlyShrink(t *testing.T) {
	t.Parallel()
	corpus := testCorpus()
	c := NewComparison(corpus)
	body := strings.Replace(running, `"duration": 0, `, `"more": 1, `, 1)
	if err := c.Add(&corpus.Endpoints[0], runs, Got{200, asJSON, []byte(body)}); err != nil {
		t.Fatal(err)
	}
	c.Missing(&corpus.Endpoints[1])
	c.Beyond("GET", "/jobs/{job}")
	c.Beyond("GET", "/programs")
	const duration, unbuilt = "GET /jobs/:jobid $.duration: missing", "GET /jobs/metrics: not built"
	const more, programs = "GET /jobs/:jobid $.more: a field of ours", "GET /programs: an endpoint of ours"
	const built, gone = "GET /jobs/:jobid: not built", "GET /jobs/:jobid $.busy: missing"
	const elsewhere = "GET /jobs/:jobid/plan: not built"
	if faults := c.Faults(Lists{Missing: []string{unbuilt}, Deliberate: []string{duration}, Ours: []string{more, programs}}); faults != nil {
		t.Errorf("with one of them deliberate: %q", faults)
	}
	for name, test := range map[string]struct {
		missing, ours, want []string
	}{
		"all is listed":            {[]string{duration, unbuilt}, []string{more, programs}, nil},
		"a field is not listed":    {[]string{unbuilt}, []string{more, programs}, []string{"differs from Flink: " + duration}},
		"a path is not listed":     {[]string{duration}, []string{more, programs}, []string{"differs from Flink: " + unbuilt}},
		"one of ours is not":       {[]string{duration, unbuilt}, []string{programs}, []string{"is not Flink's, and not in ours.txt: " + more}},
		"a listed path is built":   {[]string{duration, unbuilt, built}, []string{more, programs}, []string{"is not so any more; take it off the list: " + built}},
		"a listed field is there":  {[]string{duration, unbuilt, gone}, []string{more, programs}, []string{"is not so any more; take it off the list: " + gone}},
		"one was not looked at":    {[]string{duration, unbuilt, elsewhere}, []string{more, programs}, nil},
		"one differs in other way": {[]string{duration, unbuilt, "GET /jobs/:jobid $.cause: integer, Flink's is string"}, []string{more, programs}, []string{"is not so any more; take it off the list: GET /jobs/:jobid $.cause: integer, Flink's is string"}},
	} {
		if diff := cmp.Diff(test.want, c.Faults(Lists{Missing: test.missing, Ours: test.ours})); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{elsewhere, "no entry"}, c.Unseen(Lists{Missing: []string{duration, elsewhere}, Deliberate: []string{unbuilt, "no entry"}, Ours: []string{more, programs}})); diff != "" {
		t.Errorf("unseen (-want +got):\n%s", diff)
	}
}

// TestTheListsAreInOrder holds the numbers of known differences, so that nobody raises them unnoticed.
func TestTheListsAreInOrder(t *testing.T) {
	t.Parallel()
	l, err := KnownLists()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := [2]int{len(l.Missing), len(l.Deliberate)}, [2]int{known, deliberate}; got != want {
		t.Errorf("missing.txt and deliberate.txt have %v entries, and list.go says %v: they may only go down", got, want)
	}
	for name, list := range map[string][]string{"missing.txt": l.Missing, "ours.txt": l.Ours} {
		if !slices.IsSorted(list) {
			t.Errorf("%s is not sorted", name)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(l.Missing, l.Deliberate, l.Ours)))
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("the lists have a line twice")
	}
}

// TestTheCorpusIsWhole would catch a recording that lacks one of Flink's paths, has a fault instead of an
// answer, or contains paths of the machine that made it.
func TestTheCorpusIsWhole(t *testing.T) {
	t.Parallel()
	corpus, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(corpus.Flink.Version, "1.20.") || len(corpus.Flink.Paths) < 80 || len(corpus.Flink.Values) < 6 {
		t.Errorf("recorded is %+v", corpus.Flink)
	}
	for _, known := range corpus.Flink.Paths {
		method, path, _ := strings.Cut(known, " ")
		if corpus.Find(method, path) == nil {
			t.Errorf("%s is not recorded", known)
		}
	}
	for _, e := range corpus.Endpoints {
		var cases []string
		for _, a := range e.Answers {
			if slices.Contains(cases, a.Case) {
				t.Errorf("%s %s: %s is recorded twice", e.Method, e.Path, a.Case)
			}
			cases = append(cases, a.Case)
			if a.Status == 0 || a.Body != nil && !json.Valid(a.Body) {
				t.Errorf("%s %s: %+v", e.Method, e.Path, a)
			}
		}
	}
}

// TestTheWordsAreThere would catch a place in words that no answer has, and a recorded word that is not
// among Flink's own.
func TestTheWordsAreThere(t *testing.T) {
	t.Parallel()
	corpus, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	c := NewComparison(corpus)
	for i := range corpus.Endpoints {
		e := &corpus.Endpoints[i]
		for _, a := range e.Answers {
			if err := c.Add(e, a.Case, Got{a.Status, a.Type, a.Body}); err != nil {
				t.Error(err)
			}
		}
	}
	for _, line := range append(unlisted(c.found, nil), unlisted(c.beyond, nil)...) {
		t.Errorf("Flink differs from itself: %s", line)
	}
	for place, name := range words {
		if _, seen := c.found[place]; !seen || len(corpus.Flink.Values[name]) == 0 {
			t.Errorf("%s with a value of %s is nowhere in the corpus", place, name)
		}
	}
}
