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
		"`_p999`. The last column says whether Flink has a metric of this name and meaning.\n\n" +
		"Flink's `softBackPressuredTimeMsPerSecond` and `hardBackPressuredTimeMsPerSecond` are absent: Bobbin measures their sum. Its\n" +
		"`numRecordsIn` and `numRecordsOut` of each operator are absent too: operators of a vertex call each other without a count, which\n" +
		"keeps the cost of a record low. Count in the program where you need such a number. `numBuffersIn` is the sum of Flink's\n" +
		"`numBuffersInLocal` and `numBuffersInRemote`, which Bobbin does not count apart.\n")
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
const usersMetrics = "Its metrics are those of the job's program: [Metrics](subtasks.md#metrics) shows how to make them. For example, a function\n" +
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
	"one, and `bobbin_scrape_dropped` counts the others. A metric goes with its attempt: after a restart it begins anew.\n" +
	"`numMetricsDropped` of a subtask counts metrics for which there is no room.\n\n" +
	"Two texts for Prometheus have sums over subtasks instead, without `subtask_index`. They have counters and the counts of meters\n" +
	"(`…_callsCount`): gauges, rates and histograms have no sum.\n\n" +
	"- The ApplicationMaster's text has them for the jobs whose vertices it shows as sums. It has room for 10,000 series of\n" +
	"  operators: a meter of a subtask has 2, a histogram 8.\n" +
	"- The text of a worker has them for all jobs, without `operator_name`, up to 1,000 sums. Tasks of the worker that have ended count\n" +
	"  too: such a sum does not fall before the task host ends. It has the first 100 metrics of each task.\n"

// about says what a level is, and which labels its metrics have.
func about(level Level) string {
	switch level {
	case JobManager:
		return "The cluster and its ApplicationMaster. Label: `host`. In REST: `/jobmanager/metrics`."
	case JobManagerJob:
		return "A job that has not ended, as the ApplicationMaster sees it. Labels: `host`, `job_id`, `job_name`. In REST:\n" +
			"`/jobs/JOB/metrics`, and `/jobs/metrics?agg=…` for several jobs."
	case Vertex:
		return "A vertex of such a job, as the ApplicationMaster sees it. Labels: `host`, `job_id`, `job_name`, `task_id`, `task_name`. REST\n" +
			"answers it at `/jobs/JOB/vertices/VERTEX/jm-operator-metrics`."
	case TaskManager:
		return "A worker. Labels: `host`, `tm_id` (its container). In REST: `/taskmanagers/WORKER/metrics`, and `/taskmanagers/metrics?agg=…` for\n" +
			"several workers."
	case TaskHost:
		return "The task host of a job on a worker. Labels: `host`, `tm_id`, `job_id`, `job_name`. In REST: `/jobs/JOB/metrics`, as Flink shows what\n" +
			"a worker measures of a job. If the job has several task hosts, the value there is that of one of them, as in Flink.\n" +
			"`/jobs/metrics?jobs=JOB&agg=min,max,avg,sum` is over all of them.\n\n" +
			"Flink has the metrics of buffers (`Status.Shuffle.Netty`) and of managed memory (`Status.Flink.Memory.Managed`) for a whole\n" +
			"worker. Here each task host has its own. The sums of the buffers are in\n" +
			"`/taskmanagers/WORKER`, as `nettyShuffleMemorySegmentsUsed` and so on."
	case Task:
		return "A subtask. Labels: `host`, `tm_id`, `job_id`, `job_name`, `task_id`, `task_name`, `subtask_index`. In REST:\n" +
			"`/jobs/JOB/vertices/VERTEX/metrics`, below it `/subtasks/INDEX/metrics`, and `/subtasks/metrics?agg=…` for several subtasks. A worker, at\n" +
			"its own port, shows up to 1,000 subtasks, without `task_name`, which it does not know.\n\n" +
			"The ApplicationMaster's text for Prometheus has room for 1,000 subtasks. Of a further job it has one series for each vertex,\n" +
			"without `host`, `tm_id` and `subtask_index`. The unit `ms/s` is then the mean over the subtasks that run, a metric of 0 to 1 is\n" +
			"left out, and all others are sums. A sum falls when a subtask restarts."
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
