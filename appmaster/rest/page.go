package rest

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// maxPageJobs is how many jobs the page shows in full, the newest first.
const maxPageJobs = 20

// pageData is what the page shows.
type pageData struct {
	Overview restapi.ClusterOverview
	Workers  []msg.TaskExecutorDetails
	Jobs     []msg.JobDetails
	More     int                  // number of jobs that are left out
	Waits    map[ids.JobID]string // what jobs wait for
	Now      time.Time
}

// page answers GET / with the state of the cluster for people. It has no script, no cookie and only
// relative links, so that it works below /proxy/<application>/.
func (s *Server) page(r *http.Request) (any, error) {
	workers, err := s.gateway.TaskExecutors(r.Context())
	if err != nil {
		return nil, err
	}
	jobs, err := s.gateway.Jobs(r.Context())
	if err != nil {
		return nil, err
	}
	supply, err := s.gateway.SlotSupply(r.Context())
	if err != nil {
		return nil, err
	}
	data := pageData{Overview: overviewOf(workers, jobs, s.config), Workers: workers, Waits: make(map[ids.JobID]string), Now: time.Now()}
	for _, d := range supply.Jobs {
		if d.Waits() {
			data.Waits[d.Job] = fmt.Sprintf("waits for slots since %s: %s", pageTime(d.Since), supply.Explain(d, pageTime))
		}
	}
	slices.Reverse(jobs)
	for i, j := range jobs {
		if i == maxPageJobs {
			data.More = len(jobs) - i
			break
		}
		details, err := s.gateway.JobDetails(r.Context(), j.ID)
		if err != nil {
			continue // the job was dropped, or is starting and appears on the next page
		}
		data.Jobs = append(data.Jobs, details)
	}
	layout, err := template.New("page").Funcs(template.FuncMap{
		"time":  pageTime,
		"took":  func(start, end time.Time) string { return took(start, end, data.Now) },
		"size":  sizeOf,
		"stack": stackOf,
	}).Parse(pageLayout)
	if err != nil {
		return nil, fmt.Errorf("parse page: %w", err)
	}
	var body bytes.Buffer
	if err := layout.Execute(&body, data); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return raw{
		contentType: "text/html; charset=UTF-8",
		header:      http.Header{"Content-Security-Policy": {"default-src 'none'; style-src 'unsafe-inline'"}},
		body:        body.Bytes(),
	}, nil
}

// pageTime formats a time for the page.
func pageTime(t time.Time) string { return t.UTC().Format(time.DateTime) }

func took(start, end, now time.Time) string {
	switch {
	case start.IsZero():
		return "–"
	case end.IsZero():
		end = now
	}
	return end.Sub(start).Round(10 * time.Millisecond).String()
}

// sizeOf formats a number of bytes for people.
func sizeOf(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value := float64(n)
	unit := -1
	for ; value >= 1<<10 && unit < len(units)-1; unit++ {
		value /= 1 << 10
	}
	return fmt.Sprintf("%.1f %cB", value, units[unit])
}

const pageLayout = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="3">
<title>Bobbin</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; max-width: 75em; color: #222; }
h2 { margin: 1.6em 0 .4em; font-size: 1.15em; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .25em .8em .25em 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td.n, th.n { text-align: right; }
pre { background: #f5f5f5; padding: .6em; overflow: auto; max-height: 25em; white-space: pre-wrap; }
.FINISHED { color: #19702a; } .FAILED, .FAILING { color: #b3261e; } .CANCELED, .CANCELLING, .CANCELING { color: #8a6100; }
small { color: #666; }
</style>
</head>
<body>
<h1>Bobbin</h1>
<p>{{.Overview.TaskManagers}} task managers, {{.Overview.SlotsAvailable}} of {{.Overview.SlotsTotal}} slots free.
Jobs: {{.Overview.JobsRunning}} running, {{.Overview.JobsFinished}} finished, {{.Overview.JobsCancelled}} cancelled, {{.Overview.JobsFailed}} failed.
<small>Version {{.Overview.Version}}; times are UTC. As JSON: <a href="overview">overview</a>, <a href="jobs/overview">jobs</a>, <a href="taskmanagers">task managers</a>.</small></p>
{{range .Jobs}}
<h2>{{.Name}} <span class="{{.Status}}">{{.Status}}</span></h2>
<p>Began {{time .Start}}, took {{took .Start .End}}{{if .Restarts}}, restarted {{.Restarts}} times{{end}}{{with index $.Waits .ID}}; {{.}}{{end}}.
<small><a href="jobs/{{.ID}}">{{.ID}}</a> <a href="jobs/{{.ID}}/exceptions">exceptions</a></small></p>
<table>
<tr><th>Vertex</th><th>State</th><th class="n">Parallelism</th><th>Tasks</th><th class="n">Read</th><th class="n">Records</th><th class="n">Written</th><th class="n">Records</th><th class="n">Time</th></tr>
{{range .Vertices}}<tr><td>{{.Name}}</td><td class="{{.Status}}">{{.Status}}</td><td class="n">{{.Parallelism}}</td>
<td>{{range $state, $n := .Tasks}}{{$n}} {{$state}} {{end}}</td>
<td class="n">{{size .Traffic.ReadBytes}}</td><td class="n">{{.Traffic.ReadRecords}}</td><td class="n">{{size .Traffic.WriteBytes}}</td><td class="n">{{.Traffic.WriteRecords}}</td><td class="n">{{took .Start .End}}</td></tr>
{{end}}</table>
{{range .Exceptions}}<p>{{time .Time}} {{.Task}}{{if .Location}} on {{.Location}}{{end}} <small>{{.Resource}}</small></p>
<pre>{{stack .Failure}}</pre>
{{end}}{{end}}{{if .More}}<p>{{.More}} older jobs are left out; the <a href="jobs/overview">list</a> has them.</p>{{end}}
<h2>Task managers</h2>
<table>
<tr><th>Container</th><th>Host</th><th class="n">Slots free</th><th class="n">Slots</th><th class="n">Memory</th><th class="n">vcores</th><th>Last heartbeat</th></tr>
{{range .Workers}}<tr><td>{{.Resource}}</td><td>{{.Host}}</td><td class="n">{{.SlotsFree}}</td><td class="n">{{.SlotsTotal}}</td><td class="n">{{.Memory.ContainerMB}} MB</td><td class="n">{{.VCores}}</td><td>{{time .LastHeartbeat}}</td></tr>
{{end}}</table>
</body>
</html>
`
