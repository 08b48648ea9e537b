package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/flinkrest"
)

// variables holds the values of a template's variables, by their names.
type variables map[string]string

// with returns these values with one changed.
func (v variables) with(name, value string) variables {
	changed := maps.Clone(v)
	changed[name] = value
	return changed
}

// fill replaces a template's variables by their values.
func (v variables) fill(template string) string {
	parts := strings.Split(template, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = v[name]
		}
	}
	return strings.Join(parts, "/")
}

// request is a request to record.
type request struct {
	of       string // the case
	method   string
	template string
	values   variables
	query    string // with its "?"
	body     any    // encoded as JSON; nil: no body
	form     *form  // sent instead of body
}

// form is a body of multipart/form-data.
type form struct {
	contentType string
	body        []byte
}

// recorder sends requests, and keeps the answers.
type recorder struct {
	flink     *flink
	known     flinkrest.Flink
	endpoints map[string]*flinkrest.Endpoint // by file
	hide      *strings.Replacer              // paths of this machine
	err       error                          // the first error; after it the recorder sends nothing
}

func newRecorder(known flinkrest.Flink) *recorder {
	return &recorder{known: known, endpoints: make(map[string]*flinkrest.Endpoint)}
}

// use selects the cluster for the next requests.
func (r *recorder) use(f *flink) {
	java, err := filepath.EvalSymlinks(f.java)
	if err != nil {
		java = f.java
	}
	r.flink = f
	r.hide = strings.NewReplacer(f.scratch, "/scratch", f.home, "/flink", filepath.Dir(filepath.Dir(java)), "/java")
}

// get requests a path and decodes the answer. It records nothing.
func (f *flink) get(ctx context.Context, path string, answer any) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, json.NewDecoder(response.Body).Decode(answer)
}

// sent is a received answer.
type sent struct {
	path        string
	status      int
	contentType string
	content     []byte
}

// send makes a request.
func (r *recorder) send(ctx context.Context, q request) (s sent, err error) {
	s.path = q.values.fill(q.template) + q.query
	var body io.Reader
	contentType := ""
	switch {
	case q.form != nil:
		body, contentType = bytes.NewReader(q.form.body), q.form.contentType
	case q.body != nil:
		text, err := json.Marshal(q.body)
		if err != nil {
			return s, err
		}
		body, contentType = bytes.NewReader(text), "application/json"
	}
	asked, err := http.NewRequestWithContext(ctx, q.method, r.flink.base+s.path, body)
	if err != nil {
		return s, err
	}
	if contentType != "" {
		asked.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(asked)
	if err != nil {
		return s, err
	}
	defer response.Body.Close()
	s.status, s.contentType = response.StatusCode, response.Header.Get("Content-Type")
	s.content, err = io.ReadAll(response.Body)
	return s, err
}

// ask records the answer to a request, and decodes it into answer unless that is nil. After an
// error it does nothing.
func (r *recorder) ask(ctx context.Context, q request, answer any) (status int) {
	if r.err != nil {
		return 0
	}
	status, err := r.recorded(ctx, q, answer)
	if err != nil {
		r.err = fmt.Errorf("%s %s: %w", q.method, q.values.fill(q.template), err)
	}
	return status
}

func (r *recorder) recorded(ctx context.Context, q request, answer any) (status int, err error) {
	got, err := r.send(ctx, q)
	if err != nil {
		return 0, err
	}
	recorded := flinkrest.Answer{Case: q.of, Request: r.hide.Replace(got.path), Status: got.status, Type: got.contentType}
	if q.body != nil {
		sent, err := json.Marshal(q.body)
		if err != nil {
			return 0, err
		}
		recorded.Sent = json.RawMessage(r.hide.Replace(string(sent)))
	}
	if strings.HasPrefix(recorded.Type, "application/json") {
		if answer != nil {
			if err := json.Unmarshal(got.content, answer); err != nil {
				return 0, err
			}
		}
		if recorded.Body, err = r.normal(got.content); err != nil {
			return 0, err
		}
	} else {
		recorded.Text = cut(r.hide.Replace(string(got.content[:min(len(got.content), shortText)])))
	}
	file := flinkrest.FileOf(q.method, q.template)
	if r.endpoints[file] == nil {
		r.endpoints[file] = &flinkrest.Endpoint{Method: q.method, Path: q.template}
	}
	endpoint := r.endpoints[file]
	if !slices.ContainsFunc(endpoint.Answers, func(a flinkrest.Answer) bool { return a.Case == q.of }) { // the first answer of a case stays
		endpoint.Answers = append(endpoint.Answers, recorded)
	}
	return got.status, nil
}

// The beginning of long texts and lists is enough to show what they are.
const (
	longText  = 120 // bytes
	shortText = 60  // of a body that is not JSON
	longList  = 3   // elements with the same shape
)

func cut(text string) string {
	if len(text) <= longText {
		return text
	}
	end := longText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// normal returns a body in its recorded form: indented, with sorted names, shortened, and without
// paths of this machine.
func (r *recorder) normal(content []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(strings.NewReader(r.hide.Replace(string(content))))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return marshal(shorten(value), "")
}

// marshal does not escape "<".
func marshal(value any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return text.Bytes(), err
}

// shorten shortens texts and lists. Of list elements with the same shape it keeps the first few.
func shorten(value any) any {
	switch value := value.(type) {
	case string:
		return cut(value)
	case map[string]any:
		for name, field := range value {
			value[name] = shorten(field)
		}
	case []any:
		seen := map[string]int{}
		kept := []any{}
		for _, element := range value {
			shape := outline(element)
			if seen[shape]++; seen[shape] <= longList {
				kept = append(kept, shorten(element))
			}
		}
		return kept
	}
	return value
}

// outline returns the same text for values with the same types and names.
func outline(value any) string {
	switch value := value.(type) {
	case map[string]any:
		var text strings.Builder
		for _, name := range slices.Sorted(maps.Keys(value)) {
			fmt.Fprintf(&text, "%s:%s,", name, outline(value[name]))
		}
		return "{" + text.String() + "}"
	case []any:
		var kinds []string
		for _, element := range value {
			kinds = append(kinds, outline(element))
		}
		slices.Sort(kinds)
		return "[" + strings.Join(slices.Compact(kinds), ",") + "]"
	}
	return fmt.Sprintf("%T", value)
}

// write writes the corpus into a folder, and removes an earlier one.
func (r *recorder) write(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	files := map[string]any{flinkrest.FlinkFile: r.known}
	for file, endpoint := range r.endpoints {
		files[file] = endpoint
	}
	err = os.MkdirAll(dir, 0o755)
	for file, content := range files {
		text, failed := marshal(content, " ")
		err = errors.Join(err, failed, os.WriteFile(filepath.Join(dir, file), text, 0o644))
	}
	return err
}
