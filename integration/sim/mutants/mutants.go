package main

// mutant is a bug: in a file, new stands where old stood.
type mutant struct {
	name     string
	file     string
	old, new string
}

// mutants are the bugs that the simulation must find.
var mutants = []mutant{ //nolint:gochecknoglobals // a constant table
	{
		name: "splits not taken back", file: "appmaster/jobmaster/splits.go",
		old: "for _, i := range q.given[subtask] {",
		new: "for _, i := range q.given[subtask][:0] {",
	},
	{
		name: "splits given out again", file: "appmaster/jobmaster/splits.go",
		old: "q.taken[i] = true",
		new: "q.taken[i] = subtask > 0",
	},
	{
		name: "counters of a failed region", file: "appmaster/jobmaster/core_failures.go",
		old: "c.counters.restart(r)",
		new: "",
	},
	{
		name: "full failover restarts only a region", file: "appmaster/jobmaster/core_failures.go",
		old: "return c.config.FailoverStrategy == failover.RestartAll",
		new: "return false && c.config.FailoverStrategy == failover.RestartAll",
	},
	{
		name: "regions that got no slots do not restart", file: "appmaster/jobmaster/core_slots.go",
		old: "c.delay(r, decision.Delay)",
		new: "",
	},
	{
		name: "counters of a full restart", file: "appmaster/jobmaster/core_failures.go",
		old: "c.counters.reset()",
		new: "",
	},
	{
		name: "full failover restarts too early", file: "appmaster/jobmaster/core_failures.go",
		old: "return c.graph.Ended()",
		new: "return true",
	},
	{
		name: "outbox drops", file: "internal/actor/outbox.go",
		old: "element := o.items.PushBack(waiting[T]{item, name})",
		new: "if o.items.Len() >= 2 && name == \"\" {\n\t\treturn true, false\n\t}\n\telement := o.items.PushBack(waiting[T]{item, name})",
	},
	{
		name: "lost JobMaster ignored", file: "taskrunner/taskexecutor/core_links.go",
		old: "c.jobMasterLost(j)\n\t}\n\tif l.job",
		new: "_ = j\n\t}\n\tif l.job",
	},
	{
		name: "a host is told its job before its files are there", file: "taskrunner/taskexecutor/core_hosts.go",
		old: "j.link.state != linkAdmitted || j.waits() {",
		new: "j.link.state != linkAdmitted {",
	},
	{
		name: "files stay after their jobs", file: "taskrunner/taskexecutor/core_artifacts.go",
		old: "c.artifacts[a.key] == a && len(c.jobsOf(a)) == 0",
		new: "false && c.artifacts[a.key] == a",
	},
	{
		name: "region restarts too early", file: "appmaster/jobmaster/core_failures.go",
		old: "region.phase == delayed && c.stopped(r) &&",
		new: "region.phase == delayed &&",
	},
	{
		name: "outbox overtakes", file: "internal/actor/outbox.go",
		old: "element := o.items.PushBack(waiting[T]{item, name})",
		new: "element := o.items.PushFront(waiting[T]{item, name})",
	},
	{
		name: "start of a restarted worker kept", file: "appmaster/jobmaster/core_workers.go",
		old: "c.leave(old, \"it connected again\", true)",
		new: "c.workers = slices.DeleteFunc(c.workers, func(other *worker) bool { return other == old })",
	},
	{
		name: "region's other tasks not cancelled", file: "appmaster/jobmaster/core_failures.go",
		old: "c.cancelTasks(c.tasksOf(c.together(r)))",
		new: "",
	},
	{
		name: "release forgotten by the ResourceManager", file: "appmaster/resourcemanager/core_workers.go",
		old: "c.release = append(c.release, Release{Worker: w.id, Cause: cause})",
		new: "",
	},
	{
		name: "more workers of earlier masters than the limit", file: "appmaster/resourcemanager/core_previous.go",
		old: "c.config.Ceiling.Exceeded(sum); exceeded {",
		new: "c.config.Ceiling.Exceeded(sum); exceeded && false {",
	},
	{
		name: "workers of earlier masters rejected", file: "appmaster/resourcemanager/core_previous.go",
		old: "if r.Memory != spec.Memory ||",
		new: "if r.Memory == spec.Memory ||",
	},
	{
		name: "workers that YARN has not listed rejected", file: "appmaster/resourcemanager/core_previous.go",
		old: "return attempt > 0 && attempt < c.config",
		new: "return attempt > 0 && attempt > c.config",
	},
	{
		name: "workers' starts not counted", file: "appmaster/resourcemanager/core_workers.go",
		old: "k.starts++",
		new: "",
	},
	{
		name: "slots of an ended worker kept", file: "appmaster/resourcemanager/core_workers.go",
		old: "w.kind.slots.Remove(w.id)",
		new: "",
	},
	{
		name: "program's second job not heard", file: "appmaster/userdriver/execution.go",
		old: "sched.First(ctx, x.taken) < 0",
		new: "sched.First(ctx, x.taken) <= 0",
	},
	{
		name: "failed program counts as a success", file: "appmaster/application.go",
		old: "case !errors.Is(why, io.EOF):",
		new: "case errors.Is(why, io.ErrUnexpectedEOF):",
	},
	{
		name: "ResourceManager's alarm not moved", file: "appmaster/resourcemanager/core.go",
		old: "c.alarm = c.nextDue()\n",
		new: "",
	},
	{
		name: "new tokens not sent to workers that register later", file: "appmaster/resourcemanager/core_register.go",
		old: "if c.tokens != nil {",
		new: "if c.tokens != nil && false {",
	},
	{
		name: "tokens not passed to running hosts", file: "taskrunner/taskexecutor/core_hosts.go",
		old: "if h := c.hosts[id].host; h.instructed && !h.stopping {\n\t\t\tc.emit(sendHost{id, m})",
		new: "if h := c.hosts[id].host; h.instructed && !h.stopping {\n\t\t\t_ = m",
	},
	{
		name: "hosts start with the tokens of the launch", file: "taskrunner/taskexecutor/core_hosts.go",
		old: "c.tokens = m.Tokens",
		new: "",
	},
	{
		name: "cached files fetched with the tokens of the launch", file: "taskrunner/taskexecutor/core_hosts.go",
		old: "c.emit(updateTokens{c.tokens})",
		new: "",
	},
	{
		name: "token manager's alarm not set after a success", file: "appmaster/tokenmanager/core.go",
		old: "c.alarm = c.now.Add(max(left, leastPause))",
		new: "_ = left",
	},
	{
		name: "token manager's alarm not set after a failure", file: "appmaster/tokenmanager/core.go",
		old: "c.alarm = again",
		new: "",
	},
	{
		name: "new tokens not sent to connected workers", file: "appmaster/resourcemanager/core_workers.go",
		old: "if w := c.workers[id]; w.state == connected {\n\t\t\tc.emit(sendTaskExecutor{To: w.connection, Message: msg.UpdateTokens{Tokens: tokens}})",
		new: "if w := c.workers[id]; w.state == connected && false {\n\t\t\tc.emit(sendTaskExecutor{To: w.connection, Message: msg.UpdateTokens{Tokens: tokens}})",
	},
	{
		name: "fence left out", file: "internal/actor/fence.go",
		old: "if own == \"\" || token == own {",
		new: "if own == own || token == own {",
	},
	{
		name: "token of a registration not compared", file: "internal/actor/fence.go",
		old: "return token == \"\"",
		new: "return true",
	},
	{
		name: "worker taken twice", file: "appmaster/resourcemanager/yarnworkers/core_containers.go",
		old: "p.starts++",
		new: "",
	},
	{
		name: "ask not lowered", file: "appmaster/resourcemanager/yarnworkers/core.go",
		old: "if want := c.wanted(p); want != p.asked || elsewhere && want > 0 {",
		new: "if want := c.wanted(p); want > p.asked || elsewhere && want > 0 {",
	},
	{
		name: "asks forgotten by a resync", file: "yarnrpc/amrm/asks.go",
		old: "a.changed = a.outstanding > 0",
		new: "a.changed = false",
	},
	{
		name: "end not awaited", file: "yarnrpc/amrm/finish.go",
		old: "case err == nil && response.GetIsUnregistered():",
		new: "case err == nil:\n\t\t\treturn nil\n\t\tcase err == nil:",
	},
	{
		name: "staged files removed before the end", file: "appmaster/master.go",
		old: "if err := m.workers.Shutdown(ctx, outcome.Status",
		new: "_ = m.outside.Files.RemoveAll(ctx, m.outside.Launch.StagingDir)\n\tif err := m.workers.Shutdown(ctx, outcome.Status",
	},
	{
		name: "staged files left", file: "appmaster/master.go",
		old: "return m.outside.Files.RemoveAll(ctx, l.StagingDir) })",
		new: "return nil })",
	},
	{
		name: "commit does not take over parts", file: "dataflow/internal/output/commit.go",
		old: "c.placing = there[placing]",
		new: "",
	},
	{
		name: "commit does not see its success", file: "dataflow/internal/output/commit.go",
		old: "return string(content) == o.signature(), nil",
		new: "return len(content) < 0, nil",
	},
	{
		name: "success before the parts", file: "dataflow/internal/output/commit.go",
		old: "if err := c.place(ctx, ours); err != nil {\n\t\treturn err\n\t}\n\treturn c.finish(ctx)",
		new: "if err := c.fs.Rename(ctx, join(c.Dir, c.marker()), join(c.Dir, success)); err != nil {\n\t\treturn err\n\t}\n\treturn c.place(ctx, ours)",
	},
	{
		name: "cancelled job ends as FINISHED", file: "appmaster/jobmaster/core_end.go",
		old: "c.end(msg.JobCanceled)",
		new: "c.end(msg.JobFinished)",
	},
	{
		name: "idle workers not released", file: "appmaster/resourcemanager/slotmanager/slotmanager.go",
		old: "m.releaseIdle(now, short, &plan)",
		new: "",
	},
	{
		name: "late registration taken by the ResourceManager", file: "appmaster/resourcemanager/core_register.go",
		old: "case from.Connection < w.connection:",
		new: "case from.Connection < w.connection && false:",
	},
	{
		name: "late registration taken by a JobMaster", file: "appmaster/jobmaster/core_workers.go",
		old: "case from.Connection < old.connection:",
		new: "case from.Connection < old.connection && false:",
	},
	{
		name: "cancelled task that does not end is waited for", file: "taskrunner/taskhost/core_watchdog.go",
		old: "if c.cancellation.Timeout > 0 {",
		new: "if c.cancellation.Timeout > 0 && false {",
	},
	{
		name: "lost worker not told to end", file: "appmaster/resourcemanager/core_workers.go",
		old: "c.emit(sendTaskExecutor{To: w.connection, Message: msg.ReleaseTaskExecutor{Cause: cause}})",
		new: "",
	},
	{
		name: "spare workers released as idle", file: "appmaster/resourcemanager/slotmanager/spares.go",
		old: "if s.workers <= 0 || counts && s.slots < s.config.SlotsPerWorker {",
		new: "s.all = true\n\tif s.workers <= 0 {",
	},
	{
		name: "spare workers not ordered", file: "appmaster/resourcemanager/slotmanager/supply.go",
		old: "slots := missing - returning + m.missingSpares(returning)",
		new: "slots := missing - returning",
	},
	{
		name: "floor of workers not ordered", file: "appmaster/resourcemanager/slotmanager/supply.go",
		old: ", m.config.Least-m.registered)",
		new: ", 0)",
	},
	{
		name: "slots do not spread", file: "appmaster/resourcemanager/config.go",
		old: "config.LoadBalance(c) != config.BalanceNone",
		new: "false",
	},
	{
		name: "ceiling of workers ignored", file: "appmaster/resourcemanager/slotmanager/supply.go",
		old: "needed = max(min(needed, m.limit-m.registered+spared), 0)",
		new: "needed = max(min(needed, m.limit), 0)",
	},
	{
		name: "jobs get workers of several sizes at a time", file: "appmaster/resourcemanager/core_allotment.go",
		old: "if kinds < 2 {",
		new: "if kinds > 0 {",
	},
	{
		name: "unused workers make no room", file: "appmaster/resourcemanager/slotmanager/share.go",
		old: "if m.registered <= m.limit {",
		new: "if m.registered > 0 {",
	},
	{
		name: "kinds of workers each take the whole ceiling", file: "appmaster/resourcemanager/allotment.go",
		old: "if other != k {",
		new: "if other > len(beside) {",
	},
	{
		name: "worker too small for the slots of its group", file: "internal/launch/size.go",
		old: "Heap: config.Bytes(p.TaskHeap), ",
		new: "",
	},
	{
		name: "worker beside the last one", file: "appmaster/resourcemanager/uber/core.go",
		old: "if c.owed && c.current == \"\" {",
		new: "if c.owed {",
	},
	{
		name: "release of the worker beside forgotten", file: "appmaster/resourcemanager/uber/core.go",
		old: "c.emit(stop{c.current})",
		new: "",
	},
	{
		name: "worker beside not replaced", file: "appmaster/resourcemanager/uber/core.go",
		old: "c.current = \"\"\n}",
		new: "}",
	},
	{
		name: "leader writes where the last one does", file: "internal/ha/directory.go",
		old: "case found != own: // otherwise the answer to the own rename was lost\n\t\tif err := doubtful(d.Files.Rename(ctx, d.at(found), d.at(own))); err != nil {\n\t\t\treturn Term{}, err\n\t\t}\n\t}\n\ts := &directoryStore{Directory: d, dir: d.at(place{epoch: d.Epoch})}",
		new: "case found != own && found.ended:\n\t\tif err := doubtful(d.Files.Rename(ctx, d.at(found), d.at(own))); err != nil {\n\t\t\treturn Term{}, err\n\t\t}\n\t}\n\tlive := found.epoch\n\tif found.ended {\n\t\tlive = d.Epoch\n\t}\n\ts := &directoryStore{Directory: d, dir: d.at(place{epoch: live})}",
	},
	{
		name: "end of a job told before it is stored", file: "appmaster/dispatcher/core_store.go",
		old: "r.doing = storeTheResult\n",
		new: "r.doing = storeTheResult\n\t\tc.keep(j)\n",
	},
	{
		name: "leave to commit before the record", file: "appmaster/jobmaster/core_commits.go",
		old: "c.emit(storeCommit{Region: r, Record: c.record(r)})",
		new: "c.emit(storeCommit{Region: r, Record: c.record(r)})\n\t\tfor _, e := range c.commits[r].tasks {\n\t\t\tif w := c.byHost[e.Host]; w != nil {\n\t\t\t\tc.send(w, msg.CommitGranted{Execution: e.ID})\n\t\t\t}\n\t\t}",
	},
	{
		name: "end of an application not found", file: "internal/ha/directory.go",
		old: "if !is || !e.IsDir {",
		new: "if !is || p.ended || !e.IsDir {",
	},
	{
		name: "a job is forgotten before it is archived", file: "appmaster/dispatcher/core_recovery.go",
		old: "c.archiveEnded(e.ID, e.Status, nil)",
		new: "",
	},
	{
		name: "jobs are archived as they were before their ends", file: "appmaster/dispatcher/core_unarchived.go",
		old: "copied := *details // the job may be unloaded meanwhile\n",
		new: "copied := *details\n\t\tcopied.Status = msg.JobFinished\n",
	},
	{
		name: "partitions released after the first consumer", file: "appmaster/jobmaster/executiongraph/partitions.go",
		old: "if x.Pattern == jobgraph.AllToAll && x.reading > 0 {",
		new: "if x.Pattern == jobgraph.AllToAll && x.reading < 0 {",
	},
	{
		name: "partitions forgotten at the loss of a link", file: "taskrunner/taskexecutor/core_jobs.go",
		old: "c.keep(active)\n\tc.keepPartitions(j)",
		new: "c.keep(active)\n\tc.dropPartitions(j, \"the link is lost\")",
	},
	{
		name: "partitions not told to a later master", file: "taskrunner/taskexecutor/core_partitions.go",
		old: "if f.report == nil {\n\t\t\tcontinue",
		new: "if f.report != nil {\n\t\t\tcontinue",
	},
	{
		name: "files of dead hosts stay", file: "taskrunner/taskexecutor/core_hosts.go",
		old: "c.tidyAfter(j, h)",
		new: "",
	},
	{
		name: "tasks start before their inputs are there", file: "appmaster/jobmaster/core_partitions.go",
		old: "case c.awaitsHeld || !c.graph.Readable(r):",
		new: "case c.awaitsHeld:",
	},
	{
		name: "consumers of a lost producer go on", file: "appmaster/jobmaster/core_partitions.go",
		old: "for consumer := range c.graph.Revoke(r) {\n\t\tc.runAgain(consumer)",
		new: "for consumer := range c.graph.Revoke(r) {\n\t\t_ = consumer",
	},
	{
		name: "partitions of a lost worker kept", file: "appmaster/jobmaster/core_failures.go",
		old: "c.partitionsLost(w, lost, nil)",
		new: "",
	},
	{
		name: "readers blamed for a damaged partition", file: "appmaster/jobmaster/core_partitions.go",
		old: "if p == nil || !c.graph.Reads(e, *p) {",
		new: "if p == nil || c.graph.Reads(e, *p) {",
	},
	{
		name: "later master does not wait for partitions", file: "appmaster/jobmaster/core_inventory.go",
		old: "c.awaitsHeld = c.graph.Blocking()",
		new: "c.awaitsHeld = false",
	},
	{
		name: "idle workers with partitions released", file: "appmaster/resourcemanager/core_workers.go",
		old: "w.kind.slots.Serves(c.now, w.id, m.Partitions)",
		new: "",
	},
	{
		name: "job larger than the ceiling does not run in waves", file: "appmaster/jobmaster/core_slots.go",
		old: "case c.divideStarved(m.Reason), !c.lacks(kind):",
		new: "case !c.lacks(kind):",
	},
	{
		name: "job begins anew with the same attempts", file: "appmaster/jobmaster/executiongraph/replan.go",
		old: "next.executions[i].ID, next.executions[i].attempts = e.ID, e.attempts",
		new: "next.executions[i].ID.Epoch = e.ID.Epoch",
	},
	{
		name: "other attempts of a finished task run on", file: "appmaster/jobmaster/core_tasks.go",
		old: "c.cancelBeside(e)",
		new: "",
	},
	{
		name: "attempts of a task share its splits", file: "appmaster/jobmaster/splits.go",
		old: "n := q.read[subtask][attempt]",
		new: "n := len(q.given[subtask])",
	},
	{
		name: "more attempts at a time than the option says", file: "appmaster/jobmaster/core_speculation.go",
		old: "most-len(f.asks)-len(c.graph.Beside(e))",
		new: "most-len(f.asks)",
	},
	{
		name: "further attempts on the slow node", file: "appmaster/jobmaster/core_speculation.go",
		old: "if !c.speculation.slow.Blocks(e.Node) {",
		new: "if e.Node == \"\" {",
	},
	{
		name: "slots of further attempts kept", file: "appmaster/jobmaster/core_speculation.go",
		old: "delete(c.speculation.slots, e.ID)\n\t\tc.pool.Remove(ask, c.now)",
		new: "delete(c.speculation.slots, e.ID)\n\t\t_ = ask",
	},
	{
		name: "workers with partitions on avoided nodes released", file: "appmaster/resourcemanager/slotmanager/supply.go",
		old: "case missing == 0, w.serving, m",
		new: "case missing == 0, m",
	},
}
