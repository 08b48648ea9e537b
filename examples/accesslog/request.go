package main

import (
	"encoding/json"
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

// AppendBinary and UnmarshalBinary let requests travel between workers.
func (r Request) AppendBinary(dst []byte) ([]byte, error) {
	encoded, err := json.Marshal(r)
	return append(dst, encoded...), err
}

// UnmarshalBinary reads what AppendBinary wrote.
func (r *Request) UnmarshalBinary(encoded []byte) error { return json.Unmarshal(encoded, r) }

// newParser makes the parser of one subtask. It counts malformed lines, and shows how large the answers are.
func newParser(s dataflow.Subtask) func(line []byte, emit func(Request)) {
	malformed, sizes := s.Counter("malformed"), s.Histogram("bytes")
	return func(line []byte, emit func(Request)) {
		if request, ok := parse(string(line)); ok {
			sizes.Update(float64(request.Bytes))
			emit(request)
		} else {
			malformed.Add(1)
		}
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

// parse reads a line. ok is false if the line is malformed.
func parse(line string) (r Request, ok bool) {
	quoted := strings.SplitN(line, `"`, 3)
	if len(quoted) != 3 {
		return r, false
	}
	host, _, _ := strings.Cut(quoted[0], " ")
	asked, answered := strings.Fields(quoted[1]), strings.Fields(quoted[2])
	if host == "" || len(asked) < 2 || len(answered) < 2 {
		return r, false
	}
	r.Host, r.Path = host, asked[1]
	var err error
	if r.Status, err = strconv.Atoi(answered[0]); err != nil {
		return r, false
	}
	if answered[1] == "-" { // no body
		return r, true
	}
	r.Bytes, err = strconv.ParseInt(answered[1], 10, 64)
	return r, err == nil
}
