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
		name: "region restarts too early", file: "appmaster/jobmaster/core_failures.go",
		old: "region.phase == delayed && c.graph.RegionEnded(r) &&",
		new: "region.phase == delayed &&",
	},
}
