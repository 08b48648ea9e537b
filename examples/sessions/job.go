package main

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job.
type Args struct {
	Logs   []string
	Output string
}

// Sessions writes the sessions of each host: when each began, how long it took, its number of requests, and its
// first and last path.
var Sessions = dataflow.Job("sessions", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Logs...)
	requests := dataflow.TryMap(lines, parse, dataflow.Named("parse"), dataflow.RejectTo(odd))
	dataflow.WriteText(dataflow.SideOutput(requests, odd), a.Output+"/odd", func(dst []byte, line dataflow.Rejected[[]byte]) []byte {
		return append(append(append(dst, line.Reason...), '\t'), line.Element...)
	})
	sessions := dataflow.GroupByKey(dataflow.KeyBy(requests, hostOf), sessionize, dataflow.Named("sessionize"))
	dataflow.WriteText(sessions, a.Output+"/sessions", appendSession)
	return nil
})

// odd are the lines that are no requests.
var odd = dataflow.NewOutputTag[dataflow.Rejected[[]byte]]("odd")

func hostOf(r Request) string { return r.Host }

// gap is the time without a request that ends a session.
const gap = 30 * time.Minute

// sessionize emits the sessions of one host. Its requests come in any order, so the function sorts them by their
// times. They must fit into memory. Requests of the same second are in the order of their paths, so that
// the result is the same in each run.
func sessionize(_ context.Context, host string, values iter.Seq[Request], emit func(Session)) error {
	requests := slices.SortedFunc(values, func(a, b Request) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Path, b.Path))
	})
	current := Session{Host: host}
	for i, r := range requests {
		if i > 0 && r.Time.Sub(current.Last.Time) >= gap {
			emit(current)
			current = Session{Host: host}
		}
		current.add(r)
	}
	emit(current)
	return nil
}
