// Package flinkrest compares REST answers with those of a real Flink.
//
// The folder corpus holds the answers of a Flink cluster, a file for each method of each path;
// scripts/record-flink-rest writes it. A shape is what the recorded answers of a path have in common:
// fields, types, values. A Comparison compares our answers with the shapes and returns the differences.
// Lists name the known differences: missing.txt has what is not built yet and may only shrink,
// deliberate.txt has differences that stay, ours.txt has what Bobbin adds to Flink.
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

// Corpus is the recorded answers of a Flink cluster.
type Corpus struct {
	Flink     Flink
	Endpoints []Endpoint
}

// Flink describes the recorded cluster, and what Flink's own classes say of its REST API.
type Flink struct {
	Command string              `json:"command"` // the command that recorded it
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
	Case    string          `json:"case"`    // the subject of the request, as in "a job that has failed"
	Request string          `json:"request"` // path and query
	Sent    json.RawMessage `json:"sent,omitempty"`
	Status  int             `json:"status"`
	Type    string          `json:"type"` // Content-Type
	Body    json.RawMessage `json:"body,omitempty"`
	Text    string          `json:"text,omitempty"` // the beginning of a body that is not JSON
}

// FlinkFile is the name of the corpus file with the Flink. Every other file has an Endpoint.
const FlinkFile = "flink.json"

// FileOf returns the name of an endpoint's file.
func FileOf(method, path string) string {
	name := strings.ToLower(method) + strings.NewReplacer("/", "_", ":", "").Replace(path)
	return strings.TrimSuffix(name, "_") + ".json"
}

// Recorded returns the corpus of this repository.
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

// Same returns a form of a path that is equal for Flink's names of variables and ours: "/jobs/:jobid" and
// "/jobs/{job}" are "/jobs/*".
func Same(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") || strings.HasPrefix(part, "{") {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}

// Find returns the endpoint of a method and path, whose variables may be Flink's or ours; nil: Flink has
// none.
func (c *Corpus) Find(method, path string) *Endpoint {
	for i, e := range c.Endpoints {
		if e.Method == method && Same(e.Path) == Same(path) {
			return &c.Endpoints[i]
		}
	}
	return nil
}

// Known reports whether Flink has an endpoint. The corpus also has refusals for some endpoints that Flink
// does not have.
func (c *Corpus) Known(method, path string) bool {
	e := c.Find(method, path)
	return e != nil && (slices.Contains(c.Flink.Paths, e.Method+" "+e.Path) || e.Answers[0].Status < 300)
}

// Values of recorded requests that name no existing job, subtask and so on.
const (
	NoID      = "ffffffffffffffffffffffffffffffff"
	NoNumber  = "999999"
	NoName    = "nobody"
	NoProgram = "none.jar"
	Malformed = "xyz"
)

// Replay returns the path and query of an answer's request for another cluster: values replace the
// template's variables. Values that stand for nothing stay unless values has another. Replay reports
// whether each variable has a value.
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
