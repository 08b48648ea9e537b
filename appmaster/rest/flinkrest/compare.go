package flinkrest

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Got is an answer of Bobbin's.
type Got struct {
	Status int
	Type   string // Content-Type
	Body   []byte
}

// Comparison collects where answers of ours differ from those of a corpus. A difference is a line: a place,
// a colon, and the difference. The place is an endpoint with a field of its answer, or with a case:
//
//	GET /jobs/:jobid $.vertices[].name: missing
//	GET /jobs/:jobid (an unknown job): status 400, Flink's is 404
//	GET /jobs/metrics: not built
//
// An endpoint that answers with 501 counts as not built.
//
// One goroutine at a time may use a Comparison.
type Comparison struct {
	corpus *Corpus
	learner

	found  map[string]map[string]bool // differences, by place; a place without one was compared and is equal
	beyond map[string]map[string]bool // what Bobbin adds to Flink, likewise
}

// NewComparison makes an empty Comparison.
func NewComparison(c *Corpus) *Comparison {
	return &Comparison{
		corpus: c, learner: learner{slices.Collect(maps.Values(c.Flink.Values))},
		found: make(map[string]map[string]bool), beyond: make(map[string]map[string]bool),
	}
}

// note notes that a place was compared, and its difference unless what is "".
func note(places map[string]map[string]bool, place, what string) {
	if places[place] == nil {
		places[place] = make(map[string]bool)
	}
	if what != "" {
		places[place][what] = true
	}
}

// notBuilt is the difference of a missing endpoint.
const notBuilt = "not built"

// Beyond adds an endpoint of ours, whether Flink has it or not.
func (c *Comparison) Beyond(method, path string) {
	place := method + " " + path
	if !c.corpus.Known(method, path) {
		note(c.beyond, place, "an endpoint of ours")
	}
}

// Missing adds an endpoint of Flink's that Bobbin does not have.
func (c *Comparison) Missing(e *Endpoint) { note(c.found, e.Method+" "+e.Path, notBuilt) }

// Add compares an answer of ours with the recorded answer of the same case. It fails if there is none.
func (c *Comparison) Add(e *Endpoint, of string, got Got) error {
	i := slices.IndexFunc(e.Answers, func(a Answer) bool { return a.Case == of })
	if i < 0 {
		return fmt.Errorf("%s %s: nothing is recorded of %s", e.Method, e.Path, of)
	}
	want := e.Answers[i]
	endpoint := e.Method + " " + e.Path
	note(c.found, endpoint, "")
	at := endpoint + " (" + of + ")"
	note(c.found, at, "")
	if got.Status == http.StatusNotImplemented {
		note(c.found, endpoint, notBuilt)
		return nil
	}
	if got.Status != want.Status {
		note(c.found, at, fmt.Sprintf("status %d, Flink's is %d", got.Status, want.Status))
	}
	if (got.Status < 300) != (want.Status < 300) {
		return nil
	}
	if !sameType(got.Type, want.Type) {
		note(c.found, at, fmt.Sprintf("content type %q, Flink's is %q", got.Type, want.Type))
		return nil
	}
	if want.Body == nil {
		return nil
	}
	here, all, err := c.shapesOf(e, want)
	if err != nil {
		return err
	}
	place := endpoint
	if want.Status >= http.StatusMultipleChoices {
		place = at
	}
	if value, broken := decode(got.Body); broken != nil {
		note(c.found, at, "no JSON")
	} else {
		c.compare(place+" $", here, all, value)
	}
	return nil
}

// shapesOf returns the shape of one answer, and that of all answers of the endpoint that are successes, or
// refusals, like it.
func (c *Comparison) shapesOf(e *Endpoint, want Answer) (here, all *shape, err error) {
	here, all = newShape(), newShape()
	for _, a := range e.Answers {
		if a.Body == nil || (a.Status < 300) != (want.Status < 300) {
			continue
		}
		recorded, err := decode(a.Body)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s (%s): %w", e.Method, e.Path, a.Case, err)
		}
		c.add(all, "", recorded)
		if a.Case == want.Case {
			c.add(here, "", recorded)
		}
	}
	return here, all, nil
}

// sameType compares media types with their parameters, without regard to case.
func sameType(got, want string) bool {
	a, parameters, err := mime.ParseMediaType(got)
	b, others, failed := mime.ParseMediaType(want)
	if err != nil || failed != nil {
		return got == want
	}
	return a == b && maps.EqualFunc(parameters, others, strings.EqualFold)
}

// compare compares a value of ours at a place. here is the shape of Flink's answers of the same case there,
// nil or empty if they have nothing; all is the shape of its answers of all cases.
func (c *Comparison) compare(place string, here, all *shape, value any) {
	if all == nil || len(all.kinds) == 0 {
		return
	}
	note(c.found, place, "")
	kind := kindOf(value)
	if what := all.kindFault(kind); what != "" {
		note(c.found, place, what)
		return
	}
	switch value := value.(type) {
	case json.Number:
		switch {
		case all.time && isAmount(value):
			note(c.found, place, "no point in time in ms, as Flink's is")
		case all.amount && !all.time && isTime(value):
			note(c.found, place, "a point in time, Flink's is none")
		}
	case string:
		if !all.noID && !isID(value) {
			note(c.found, place, "no id of 32 hex digits, as Flink's is")
		}
		c.compareWord(place, value)
	case []any:
		for _, element := range value {
			c.compare(place+"[]", here.element(), all.elem, element)
		}
	case map[string]any:
		if all.isMap {
			for _, element := range value {
				c.compare(place+".*", here.element(), all.elem, element)
			}
			return
		}
		c.compareFields(place, here, all, value)
	}
}

// compareFields compares the fields of an object.
func (c *Comparison) compareFields(place string, here, all *shape, object map[string]any) {
	wanted := here
	if here == nil || here.objects == 0 {
		wanted = all
	}
	for name, field := range wanted.fields {
		if field.present == wanted.objects {
			what := ""
			if _, is := object[name]; !is {
				what = "missing"
			}
			note(c.found, place+"."+name, what)
		}
	}
	for name, value := range object {
		at := place + "." + name
		field := all.fields[name]
		switch {
		case field == nil && all.closed:
			note(c.found, at, "no state of Flink's")
			continue
		case field == nil:
			note(c.beyond, at, "a field of ours")
			continue
		}
		var inner *shape
		if here != nil {
			inner = here.fields[name]
		}
		c.compare(at, inner, field, value)
	}
}

// element returns the shape of elements; nil for a nil shape.
func (s *shape) element() *shape {
	if s == nil {
		return nil
	}
	return s.elem
}

// kindFault returns what is wrong with a kind, or "". If Flink has only sent null, any kind is right.
func (s *shape) kindFault(kind string) string {
	if s.kinds[kind] || kind == kindInteger && s.kinds[kindNumber] || len(s.kinds) == 1 && s.kinds[kindNull] {
		return ""
	}
	return kind + ", Flink's is " + strings.Join(slices.Sorted(maps.Keys(s.kinds)), " or ")
}

// words are the places whose texts are values of one of Flink's enumerations.
var words = map[string]string{
	"GET /jobs $.jobs[].status":                                                             "JobStatus",
	"GET /jobs/overview $.jobs[].state":                                                     "JobStatus",
	"GET /jobs/:jobid $.state":                                                              "JobStatus",
	"GET /jobs/:jobid $.job-type":                                                           "JobType",
	"GET /jobs/:jobid $.plan.type":                                                          "JobType",
	"GET /jobs/:jobid $.vertices[].status":                                                  "ExecutionState",
	"GET /jobs/:jobid/plan $.plan.type":                                                     "JobType",
	"GET /jars/:jarid/plan $.plan.type":                                                     "JobType",
	"POST /jars/:jarid/plan $.plan.type":                                                    "JobType",
	"GET /jobs/:jobid/status $.status":                                                      "JobStatus",
	"GET /jobs/:jobid/config $.execution-config.execution-mode":                             "ExecutionMode",
	"GET /jobs/:jobid/execution-result $.status.id":                                         "QueueStatus",
	"GET /jobs/:jobid/execution-result $.job-execution-result.application-status":           "ApplicationStatus",
	"GET /jobs/:jobid/vertices/:vertexid $.subtasks[].status":                               "ExecutionState",
	"GET /jobs/:jobid/vertices/:vertexid/taskmanagers $.taskmanagers[].status":              "ExecutionState",
	"GET /jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex $.status":                   "ExecutionState",
	"GET /jobs/:jobid/vertices/:vertexid/subtasks/:subtaskindex/attempts/:attempt $.status": "ExecutionState",
	"GET /jobs/:jobid/savepoints/:triggerid $.status.id":                                    "QueueStatus",
	"GET /jobs/:jobid/checkpoints/:triggerid $.status.id":                                   "QueueStatus",
	"GET /savepoint-disposal/:triggerid $.status.id":                                        "QueueStatus",
	"GET /datasets/delete/:triggerid $.status.id":                                           "QueueStatus",
}

// compareWord compares a text whose place allows only certain texts.
func (c *Comparison) compareWord(place, text string) {
	if name, is := words[place]; is && !slices.Contains(c.corpus.Flink.Values[name], text) {
		note(c.found, place, "no value of Flink's "+name)
	}
}
