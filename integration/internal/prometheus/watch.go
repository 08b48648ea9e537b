package prometheus

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// CheckWatches checks what a Prometheus sees of an application with one running job on one worker, which has a port for
// it. monitoring is the folder with the alert rules and the dashboard. The job has an operator "gate" with metrics of all kinds, as
// the program dawdle. It would catch a certificate or a token that Prometheus refuses, a text that it cannot read, a worker that it
// does not find, a rule that cannot be evaluated or fires without a reason, and a panel without data.
func CheckWatches(t testing.TB, access launch.Access, monitoring string) {
	t.Helper()
	p := Of(t, access, monitoring)
	p.Await(t, `up{job="bobbin"} == 1`, 1)
	p.Await(t, `up{job="bobbin-workers"} == 1`, 1)
	for _, expression := range []string{
		`bobbin_jobmanager_numRunningJobs == 1`,
		`bobbin_jobmanager_numRegisteredTaskManagers == 1`,
		`bobbin_jobmanager_taskSlotsTotal > 0`,
		`bobbin_jobmanager_Yarn_containersStarted >= 1`,
		`bobbin_jobmanager_Yarn_allocateLatency_count > 0`,
		`bobbin_jobmanager_Rpc_calls{protocol="ClientProtocol"} > 0`,
		`bobbin_jobmanager_Status_Process_Memory_Resident > 1e6 and bobbin_jobmanager_Status_Process_Memory_Resident < bobbin_jobmanager_Status_Process_Memory_Budget`,
		`bobbin_jobmanager_job_runningTime > 0`,
		`bobbin_scrape_failed{job="bobbin"} == 0`,
		`bobbin_scrape_dropped{job="bobbin"} == 0`,
		`bobbin_taskmanager_Status_Process_Memory_Resident{job="bobbin"} > 1e6`,
		`bobbin_taskmanager_job_Status_Process_Memory_Resident{job="bobbin-workers", job_name!=""} > 1e6`,
		`sum(bobbin_taskmanager_job_task_numBytesIn{job="bobbin-workers", job_name!=""}) > 0`,
		`bobbin_jobmanager_Yarn_containerWaitTime_count >= 1`,
		`bobbin_jobmanager_Hdfs_latency_count{operation="read"} > 0`,
		`bobbin_jobmanager_Hdfs_latency_count{operation="write"} > 0`,
		`bobbin_jobmanager_job_task_numSplits{task_name!=""} > 0`,
		`bobbin_taskmanager_job_Rpc_latency_count{job="bobbin", protocol="ClientProtocol"} > 0`,
		`bobbin_taskmanager_job_Hdfs_latency_count{job="bobbin", operation="read"} > 0`,
		`bobbin_taskmanager_job_Hdfs_latency_count{job="bobbin-workers", operation="read"} > 0`,
		// All kinds of metrics of the program's code.
		`bobbin_taskmanager_job_task_operator_lines{operator_name="gate"} > 0`,
		`bobbin_taskmanager_job_task_operator_length{operator_name="gate"} > 4`,
		`bobbin_taskmanager_job_task_operator_passed{operator_name="gate"} > 0`,
		`bobbin_taskmanager_job_task_operator_passedCount{operator_name="gate"} > 0`,
		`bobbin_taskmanager_job_task_operator_lengths{operator_name="gate", quantile="0.5"} >= 5`,
		`bobbin_taskmanager_job_task_operator_lengths_count{operator_name="gate"} > 0`,
	} {
		p.Await(t, expression, 1)
	}
	p.checkTable(t)
	p.checkDashboard(t, monitoring)
	p.checkRules(t, monitoring)
}
