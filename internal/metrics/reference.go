package metrics

import (
	"cmp"
	"fmt"
	"strings"
)

//go:generate go run ../reference metrics ../../docs/METRICS.md

// Reference returns the page of all metrics, docs/METRICS.md, in Markdown.
func Reference() string {
	var page strings.Builder
	page.WriteString("# Metrics\n\n" +
		"<!-- Code generated from internal/metrics/definitions*.go. DO NOT EDIT. -->\n\n" +
		"[Monitoring](monitoring.md) shows how to get these metrics. REST names a metric as this page does. For Prometheus the\n" +
		"name begins with `bobbin_` and the scope, and dots are `_`: `bobbin_jobmanager_taskSlotsTotal`. A metric with a group\n" +
		"has one series for each value of this label. In REST the group stands before the last part of the name:\n" +
		"`Rpc.protocol.ClientProtocol.latency`.\n\n" +
		"A meter is a rate over the last minute, unless its meaning says otherwise. A histogram is of the last 1,024 values; in\n" +
		"REST its name ends with `_count`, `_min`, `_max`, `_mean`, `_median`, `_stddev`, `_p75`, `_p90`, `_p95`, `_p98`, `_p99` or\n" +
		"`_p999`. The last column says whether Flink has a metric of this name and meaning.\n")
	level := Level("")
	for _, d := range Definitions() {
		if d.Level != level {
			level = d.Level
			fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| name | kind | unit | group | meaning | origin |\n| --- | --- | --- | --- | --- | --- |\n", level, about(level))
		}
		origin := "Bobbin"
		if d.Flink {
			origin = "Flink"
		}
		group := d.Group
		if group != "" {
			group = "`" + group + "`"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s | %s |\n", d.Name, d.Kind, cmp.Or(string(d.Unit), "number"), cmp.Or(group, "none"), d.Meaning, origin)
	}
	fmt.Fprintf(&page, "\n## %s\n\n%s\n\n%s", Operator, about(Operator), usersMetrics)
	return page.String()
}

// usersMetrics says how the metrics of users' code are shown. The table has none of them.
const usersMetrics = "Its metrics are those of the job's program: [Metrics](write-a-job.md#metrics) shows how to make them. For example, a function\n" +
	"of the operator `flat map` (option `Named`) makes these:\n\n" +
	"| the function makes | kind | for Prometheus | in REST, of a subtask |\n| --- | --- | --- | --- |\n" +
	"| `s.Counter(\"lines.read\")` | counter | `bobbin_taskmanager_job_task_operator_lines_read` | `flat_map.lines_read` |\n" +
	"| `s.Gauge(\"cache\")` | gauge | `bobbin_taskmanager_job_task_operator_cache` | `flat_map.cache` |\n" +
	"| `s.Meter(\"calls\")` | meter: events per second | `bobbin_taskmanager_job_task_operator_calls` | `flat_map.calls` |\n" +
	"| | counter: all events | `bobbin_taskmanager_job_task_operator_callsCount` | `flat_map.callsCount` |\n" +
	"| `s.Histogram(\"bytes\")` | histogram | `bobbin_taskmanager_job_task_operator_bytes` | `flat_map.bytes_max`, `flat_map.bytes_p99` and so on |\n\n" +
	"For Prometheus each character of a name other than letters, digits and `_` is a `_`; the label `operator_name` has the\n" +
	"operator's own name. In REST, spaces, `.`, `:` and `,` in both names are `_`. `/jobs/JOB/vertices/VERTEX/metrics` puts the index of\n" +
	"the subtask first: `3.flat_map.lines_read`. If two metrics of an operator have the same name for Prometheus, it gets the first\n" +
	"one, and `bobbin_scrape_dropped` counts the others. A metric goes with its attempt: after a restart it begins anew. Sums of a\n" +
	"vertex have no metrics of operators. `numMetricsDropped` of a subtask counts metrics for which there is no room.\n"

// about says what a level is, and which labels its metrics have.
func about(level Level) string {
	switch level {
	case JobManager:
		return "The cluster and its ApplicationMaster. Label: `host`."
	case JobManagerJob:
		return "A job that has not ended, as the ApplicationMaster sees it. Labels: `host`, `job_id`, `job_name`."
	case Vertex:
		return "A vertex of such a job, as the ApplicationMaster sees it. Labels: `host`, `job_id`, `job_name`, `task_id`, `task_name`. REST\n" +
			"answers it at `/jobs/JOB/vertices/VERTEX/jm-operator-metrics`."
	case TaskManager:
		return "A worker. Labels: `host`, `tm_id` (its container)."
	case TaskHost:
		return "The task host of a job on a worker. Labels: `host`, `tm_id`, `job_id`, `job_name`."
	case Task:
		return "A subtask. Labels: `host`, `tm_id`, `job_id`, `job_name`, `task_id`, `task_name`, `subtask_index`. A worker, at its own port, shows\n" +
			"up to 1,000 subtasks of each job, without `task_name` and without the metrics of operators, which it does not know."
	case TaskManagers:
		return "All workers together, only for Prometheus. No labels. A gauge is the sum over the registered workers. A counter is the sum over all\n" +
			"workers since this ApplicationMaster began, also over those that have ended: it does not fall when workers come and go. So use\n" +
			"these counters for `rate()`, and not sums over the workers. REST answers sums over the registered workers at\n" +
			"`/taskmanagers/metrics?agg=sum`."
	case TaskHosts:
		return "All task hosts of a job together, only for Prometheus. Labels: `job_id`, `job_name`. Gauges and counters are sums as above; the\n" +
			"series end with the job."
	case Operator:
		return "An operator in a subtask. Labels: those of a subtask, `operator_id` (its place in the vertex, from 0), `operator_name`."
	}
	return ""
}
