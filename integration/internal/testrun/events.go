package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of test2json (go doc test2json).
type event struct {
	Action  string // start, run, output, pass, fail, skip, …
	Package string
	Test    string // "" for the package itself
	Output  string
	Elapsed float64 // seconds
}

// test is the result of one test, or of a package if its name is "".
type test struct {
	pkg, name string
	result    string // pass, fail, skip; "" while it runs
	seconds   float64
	output    []string
}

func (t *test) failed() bool { return t.result == "fail" || t.result == "" }

// results holds the results of a suite's tests.
type results struct {
	tests   []*test // in the order of their start
	byName  map[[2]string]*test
	strange []string // lines that are not events
}

// read reads events to their end, and calls tell with each line.
func (r *results) read(from io.Reader, tell func(line string)) error {
	r.byName = make(map[[2]string]*test)
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			r.take(line)
			tell(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of tests: %w", err)
		}
	}
}

func (r *results) take(line string) {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		r.strange = append(r.strange, line)
		return
	}
	switch e.Action {
	case "output":
		t := r.of(e)
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		t := r.of(e)
		t.result, t.seconds = e.Action, e.Elapsed
		if e.Action == "pass" && e.Test != "" {
			t.output = nil // nobody asks
		}
	case "start", "run":
		r.of(e)
	}
}

func (r *results) of(e event) *test {
	key := [2]string{e.Package, e.Test}
	t := r.byName[key]
	if t == nil {
		t = &test{pkg: e.Package, name: e.Test}
		r.byName[key], r.tests = t, append(r.tests, t)
	}
	return t
}

// short returns the test's name with the package's, without the module's.
func (t *test) short() string {
	return strings.TrimPrefix(strings.TrimPrefix(t.pkg, module), "/") + " " + t.name
}

// reason returns the reason of a skipped test.
func (t *test) reason() string {
	for _, line := range t.output {
		if said := strings.TrimSpace(line); said != "" && !strings.HasPrefix(said, "=== ") && !strings.HasPrefix(said, "--- ") {
			if _, after, found := strings.Cut(said, ".go:"); found {
				_, said, _ = strings.Cut(after, ": ")
			}
			return said
		}
	}
	return "no reason given"
}
