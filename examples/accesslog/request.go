package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Request is a line of an access log in the Common Log Format:
//
//	127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326
type Request struct {
	Host, Path string
	Status     int
	Bytes      int64
}

// newParser makes the parser of one subtask. It counts malformed lines, and shows how large the answers are.
func newParser(s dataflow.Subtask) dataflow.Function[[]byte, Request] {
	malformed, sizes := s.Counter("malformed"), s.Histogram("bytes")
	return dataflow.Function[[]byte, Request]{
		Process: func(_ context.Context, line []byte, emit func(Request)) error {
			request, err := parse(string(line))
			if err != nil {
				malformed.Add(1)
				return err
			}
			sizes.Update(float64(request.Bytes))
			emit(request)
			return nil
		},
	}
}

// without makes functions that leave out the requests of the hosts in a cached file.
func without(name string) func(dataflow.Subtask) func(r Request, emit func(Request)) {
	return func(s dataflow.Subtask) func(r Request, emit func(Request)) {
		path, err := s.CachedFile(name)
		if err != nil {
			panic(err)
		}
		list, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		hosts := strings.Fields(string(list))
		return func(r Request, emit func(Request)) {
			if !slices.Contains(hosts, r.Host) {
				emit(r)
			}
		}
	}
}

var errMalformed = errors.New("not in the Common Log Format")

// parse reads a line.
func parse(line string) (r Request, err error) {
	quoted := strings.SplitN(line, `"`, 3)
	if len(quoted) != 3 {
		return r, errMalformed
	}
	host, _, _ := strings.Cut(quoted[0], " ")
	asked, answered := strings.Fields(quoted[1]), strings.Fields(quoted[2])
	if host == "" || len(asked) < 2 || len(answered) < 2 {
		return r, errMalformed
	}
	r.Host, r.Path = host, asked[1]
	if r.Status, err = strconv.Atoi(answered[0]); err != nil {
		return r, fmt.Errorf("status: %w", err)
	}
	if answered[1] == "-" { // no body
		return r, nil
	}
	if r.Bytes, err = strconv.ParseInt(answered[1], 10, 64); err != nil {
		return r, fmt.Errorf("bytes: %w", err)
	}
	return r, nil
}
