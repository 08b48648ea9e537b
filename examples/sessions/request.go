package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Request is a line of an access log in the Common Log Format:
//
//	127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /index.html HTTP/1.0" 200 2326
type Request struct {
	Host string
	Time time.Time
	Path string
}

// Session is a run of requests of one host.
type Session struct {
	Host        string
	First, Last Request
	Requests    int
}

// add adds a request that is not earlier than the others.
func (s *Session) add(r Request) {
	if s.Requests == 0 {
		s.First = r
	}
	s.Last = r
	s.Requests++
}

// appendSession formats an output line, with tabs.
func appendSession(dst []byte, s Session) []byte {
	begin := s.First.Time.UTC()
	return fmt.Appendf(dst, "%s\t%s\t%s\t%d\t%s\t%s",
		s.Host, begin.Format(time.RFC3339), s.Last.Time.Sub(begin), s.Requests, s.First.Path, s.Last.Path)
}

var errMalformed = errors.New("not in the Common Log Format")

// parse reads a line.
func parse(_ context.Context, line []byte) (r Request, err error) {
	who, rest, _ := strings.Cut(string(line), "[")
	when, rest, _ := strings.Cut(rest, "]")
	fields := strings.Fields(rest) // "GET, path, HTTP/1.0", status, bytes
	host, _, _ := strings.Cut(who, " ")
	if host == "" || len(fields) < 3 {
		return r, errMalformed
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", when)
	if err != nil {
		return r, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return Request{Host: host, Time: at, Path: fields[1]}, nil
}
