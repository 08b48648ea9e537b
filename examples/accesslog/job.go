package main

import (
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// Args are the arguments of the job.
type Args struct {
	Logs   []string
	Output string
	// Without names a cached file with the hosts whose requests are left out, one on
	// each line; "": none.
	Without string
}

// Report reads the access logs of web servers. It writes the bytes sent to each
// host, and the largest answer for each path. It sends the number of answers with
// each status to the driver. Lines that are no requests go to an output of their own, with the reason.
var Report = dataflow.Job("accesslog", func(p *dataflow.Plan, a Args) error {
	lines := dataflow.ReadText(p, a.Logs...)
	requests := dataflow.Process(lines, newParser, dataflow.Named("parse"), dataflow.CountAs("requests"), dataflow.RejectTo(odd))
	dataflow.WriteText(dataflow.SideOutput(requests, odd), a.Output+"/odd", func(dst []byte, line dataflow.Rejected[[]byte]) []byte {
		return append(append(append(dst, line.Reason...), '\t'), line.Element...)
	})
	if a.Without != "" {
		requests = dataflow.FlatMapWith(requests, without(a.Without), dataflow.Named("leave out"))
	}

	sent := dataflow.Sum(dataflow.KeyBy(requests, hostOf), bytesOf)
	dataflow.WriteText(sent, a.Output+"/hosts", func(dst []byte, host dataflow.KV[string, int64]) []byte {
		return strconv.AppendInt(append(append(dst, host.Key...), '\t'), host.Value, 10)
	})

	largest := dataflow.Reduce(dataflow.KeyBy(requests, pathOf), larger)
	dataflow.WriteText(largest, a.Output+"/paths", func(dst []byte, path dataflow.KV[string, Request]) []byte {
		return strconv.AppendInt(append(append(dst, path.Key...), '\t'), path.Value.Bytes, 10)
	})

	dataflow.Collect(dataflow.Count(dataflow.KeyBy(requests, statusOf)), Statuses)
	return nil
})

// odd are the lines that are no requests.
var odd = dataflow.NewOutputTag[dataflow.Rejected[[]byte]]("odd")

// Statuses collects the number of requests with each status.
var Statuses = dataflow.NewCollector[dataflow.KV[int, int64]]("statuses")

func hostOf(r Request) string { return r.Host }
func pathOf(r Request) string { return r.Path }
func statusOf(r Request) int  { return r.Status }
func bytesOf(r Request) int64 { return r.Bytes }

func larger(a, b Request) Request {
	if a.Bytes >= b.Bytes {
		return a
	}
	return b
}
