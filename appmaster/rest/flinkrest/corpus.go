// Package flinkrest compares REST answers with those of a real Flink.
//
// The folder corpus holds what a Flink cluster has answered, a file for each method of each path;
// scripts/record-flink-rest writes it. A shape is what the recorded answers of a path have in
// common: fields, types, values. A Comparison takes our answers and says where they differ. The
// differences that are known are listed: missing.txt has what is not built yet and may only shrink,
// deliberate.txt what is to stay otherwise, ours.txt what we have beyond Flink.
//
// The package starts no goroutines. Only tests and the recorder import it.
package flinkrest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed corpus/*.json
var corpusFiles embed.FS

// Corpus is what a Flink cluster has answered.
type Corpus struct {
	Flink     Flink
	Endpoints []Endpoint
}

// Flink is the cluster that was recorded, and what its own classes say of its REST API.
type Flink struct {
	Command string              `json:"command"` // that has recorded it
	Version string              `json:"version"`
	Java    string              `json:"java"`
	Paths   []string            `json:"paths"`  // method and template, as in "GET /jobs/:jobid"
	Values  map[string][]string `json:"values"` // by the name of Flink's enumeration
}

// Endpoint is a method of a path, with the recorded answers.
type Endpoint struct {
	Method  string   `json:"method"`
	Path    string   `json:"path"` // template with Flink's names of variables, as in "/jobs/:jobid"
	Answers []Answer `json:"answers"`
}

// Answer is an answer to one request.
type Answer struct {
	Case    string          `json:"case"`    // what was asked about, as in "a job that has failed"
	Request string          `json:"request"` // path and query
	Sent    json.RawMessage `json:"sent,omitempty"`
	Status  int             `json:"status"`
	Type    string          `json:"type"` // Content-Type
	Body    json.RawMessage `json:"body,omitempty"`
	Text    string          `json:"text,omitempty"` // the beginning of a body that is not JSON
}

// FlinkFile is the name of the file with the Flink of a corpus. Every other file has an Endpoint.
const FlinkFile = "flink.json"

// FileOf is the name of the file of an endpoint.
func FileOf(method, path string) string {
	name := strings.ToLower(method) + strings.NewReplacer("/", "_", ":", "").Replace(path)
	return strings.TrimSuffix(name, "_") + ".json"
}

// Recorded is the corpus of this repository.
func Recorded() (*Corpus, error) {
	files, err := fs.Sub(corpusFiles, "corpus")
	if err != nil {
		return nil, err
	}
	return ReadCorpus(files)
}

// ReadCorpus reads a folder that the recorder has written.
func ReadCorpus(files fs.FS) (*Corpus, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, err
	}
	c := new(Corpus)
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		if name == FlinkFile {
			err = json.Unmarshal(content, &c.Flink)
		} else {
			var e Endpoint
			err = json.Unmarshal(content, &e)
			c.Endpoints = append(c.Endpoints, e)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return c, nil
}

// Same gives the form of a path that is equal for Flink's names of variables and ours:
// "/jobs/:jobid" and "/jobs/{job}" are "/jobs/*".
func Same(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") || strings.HasPrefix(part, "{") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// Find looks for an endpoint by method and path, whose variables may be Flink's or ours; nil: Flink has none.
func (c *Corpus) Find(method, path string) *Endpoint {
	for i, e := range c.Endpoints {
		if e.Method == method && Same(e.Path) == Same(path) {
			return &c.Endpoints[i]
		}
	}
	return nil
}

// Known tells whether Flink has an endpoint. Of some that it does not have, refusals are recorded.
func (c *Corpus) Known(method, path string) bool {
	e := c.Find(method, path)
	return e != nil && (slices.Contains(c.Flink.Paths, e.Method+" "+e.Path) || e.Answers[0].Status < 300)
}

// Values that were asked for as a job, a subtask and so on, and that nothing has.
const (
	NoID      = "ffffffffffffffffffffffffffffffff"
	NoNumber  = "999999"
	NoName    = "nobody"
	NoProgram = "none.jar"
	Malformed = "xyz"
)

// Replay gives the path and query of the request behind an answer, for another cluster: the
// template's variables have their values there. Those that nothing has stay as they are, unless
// values has another for them. It tells whether there is a value for each.
func (e *Endpoint) Replay(a Answer, values map[string]string) (request string, is bool) {
	path, query, asks := strings.Cut(a.Request, "?")
	recorded := strings.Split(path, "/")
	for i, part := range strings.Split(e.Path, "/") {
		name, variable := strings.CutPrefix(part, ":")
		if !variable || i >= len(recorded) {
			continue
		}
		value, given := values[recorded[i]]
		if !given && slices.Contains([]string{NoID, NoNumber, NoName, NoProgram, Malformed}, recorded[i]) {
			value, given = recorded[i], true
		}
		if !given {
			value, given = values[name]
		}
		if !given {
			return "", false
		}
		recorded[i] = value
	}
	request = strings.Join(recorded, "/")
	if asks {
		request += "?" + query
	}
	return request, true
}
