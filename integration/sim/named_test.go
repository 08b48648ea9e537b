package sim_test

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// The first jobs of these seeds have two workers. The one runs for 80 s, and the other for almost 5 min. The
// tasks of the third exchange no data. The first three jobs of the last one need slots of two sizes, and block each
// other if workers are ordered for several of them at a time.
const long, longer, apart, twoSizes = 34, 136, 20, 1

// halfway is in the middle of this job.
const halfway = 30 * time.Second

// one is the long job with one fault, which waits for a call unless the call is "".
func one(at time.Duration, call string, kind sim.FaultKind, victim int, lasts time.Duration) sim.Schedule {
	return sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{At: at, Call: call, Kind: kind, Victim: victim, Time: lasts}}}
}

// onlyOnce is a schedule whose applications have one attempt.
func onlyOnce(s sim.Schedule) sim.Schedule {
	s.Attempts = 1
	return s
}

// freezing is a schedule whose master freezes at a call to YARN, until YARN has begun another attempt, and continues because
// its NodeManager does not hear of that.
func freezing(at, lasts time.Duration, unheard sim.Fault) sim.Schedule {
	s := one(at, allocates, sim.FreezeMaster, 0, lasts)
	s.Faults = append(s.Faults, unheard)
	return s
}

// free is a schedule whose failures must use up no restart.
func free(s sim.Schedule) sim.Schedule {
	s.Restarts = sim.NoRestarts
	return s
}

// atMost is a schedule whose failures must use up no more than this number of restarts.
func atMost(restarts int, s sim.Schedule) sim.Schedule {
	s.Restarts = restarts
	return s
}

// waiting is a schedule whose jobs fail and restart if they wait so long for slots.
func waiting(timeout time.Duration, s sim.Schedule) sim.Schedule {
	s.SlotTimeout = timeout
	return s
}

// on is a schedule with the jobs of another seed.
func on(seed uint64, s sim.Schedule) sim.Schedule {
	s.Seed = seed
	return s
}

// program is a schedule whose jobs are executed by the program of one application.
func program(s sim.Schedule) sim.Schedule {
	s.Mode = sim.Application
	return s
}

// blocking is the long job with blocking exchanges and one fault, which strikes when the first sink begins to write.
func blocking(kind sim.FaultKind, victim int, lasts time.Duration) sim.Schedule {
	s := one(0, sinks, kind, victim, lasts)
	s.Edges = sim.Blocking
	return s
}

// larger is a job with more tasks than the cluster has slots, with faults.
func larger(faults ...sim.Fault) sim.Schedule {
	return sim.Schedule{Seed: long, Jobs: 1, Edges: sim.Automatic, Large: true, Slots: 4, Faults: faults}
}

// later is a job that loses a worker while its sources run, and gets no other one for four minutes. The sources go on in turn, but the
// sinks have too few slots. After a minute, at 4m20s, the job begins anew in waves.
func later(faults ...sim.Fault) sim.Schedule {
	faults = append([]sim.Fault{{At: halfway - time.Second, Kind: sim.FillNodes, Time: 4 * minute}, {At: halfway, Kind: sim.KillWorker}}, faults...)
	return waiting(minute, sim.Schedule{Seed: long, Jobs: 1, Edges: sim.Later, Faults: faults})
}

// speculative is a job with a source of four tasks on two workers, and with faults. Without them the first task takes longest, until
// 18.4 s, and has another attempt since 18.2 s.
func speculative(faults ...sim.Fault) sim.Schedule {
	return sim.Schedule{Seed: 134, Jobs: 1, Edges: sim.Blocking, Speculation: 2, SlowAfter: 3 * time.Second, SlowPercent: 30, Faults: faults}
}

// closing is a speculative job whose master freezes for 8 s at least. Meanwhile both attempts of the first task finish: they have read all
// splits before. The first one takes longer, because its node is slow, and the other one finishes at 22.6 s.
func closing(lasts time.Duration, other ...sim.Fault) sim.Schedule {
	return speculative(append([]sim.Fault{
		{At: 18300 * time.Millisecond, Kind: sim.SlowNode, Victim: 2, Time: 10 * time.Second}, {At: 22 * time.Second, Kind: sim.FreezeMaster, Time: lasts},
	}, other...)...)
}

// narrow is a schedule with one worker.
func narrow(s sim.Schedule) sim.Schedule {
	s.Slots = 2
	return s
}

// inSession is a schedule whose jobs share a session.
func inSession(s sim.Schedule) sim.Schedule {
	s.Mode = sim.Session
	return s
}

// inGroups is a schedule with three jobs of a session that have slot sharing groups with resources, and another
// fault.
func inGroups(s sim.Schedule, other sim.Fault) sim.Schedule {
	s = inSession(s)
	s.Jobs, s.Groups, s.Faults = 3, true, append(s.Faults, other)
	return s
}

// stubborn is a schedule whose sources ignore that they are cancelled.
func stubborn(s sim.Schedule) sim.Schedule {
	s.Stubborn = true
	return s
}

// uber is a schedule with a worker in the container of the master.
func uber(s sim.Schedule) sim.Schedule {
	s.Uber = true
	return s
}

// brief is the longer job with tokens that last so long.
func brief(interval time.Duration, faults ...sim.Fault) sim.Schedule {
	return sim.Schedule{Seed: longer, Jobs: 1, Interval: interval, Faults: faults}
}

// unprotected is a schedule without high availability.
func unprotected(s sim.Schedule) sim.Schedule {
	s.Unprotected = true
	return s
}

// archiving is a schedule whose jobs are archived for history servers.
func archiving(s sim.Schedule) sim.Schedule {
	s.Archive = true
	return s
}

// away is a session whose HDFS is away when a job is cancelled, and for longer than one try of its archive takes. Without high
// availability the end of the job does not wait for HDFS.
var away = sim.Schedule{Seed: 100773, Jobs: 4, Mode: sim.Session, Slots: 4, Unprotected: true, Archive: true, Faults: []sim.Fault{
	{At: 9 * time.Second, Kind: sim.StopHDFS, Time: 107 * time.Second}, {At: 23 * time.Second, Kind: sim.CancelJob, Victim: 9},
}}

// Two faults that make tasks slow. The second one lasts longer than any job.
var (
	hung = sim.Fault{At: 13 * time.Second, Kind: sim.FreezeHost, Time: 45 * time.Second}
	slow = sim.Fault{At: 13 * time.Second, Kind: sim.SlowNode, Victim: 2, Time: time.Hour}
)

const (
	commits   = "rename2 .*/_SUCCESS$"
	results   = "rename2 .*/result/"
	finishes  = "finishApplicationMaster"
	allocates = "appattempt.* allocate"
	stores    = "rename2 .*/commit-[0-9]+$"
	sinks     = "mkdirs .*/e1-v[1-9][0-9]*-s"
	minute    = time.Minute
)

// named has a schedule for each failure of docs/reliability.md that the simulation can show, and the least
// counts that show that it has met this failure. Without a fault the job has a master, two workers, two
// task hosts and four streams. If most is set, it bounds the workers.
// An application may be excused only if the counts have sim.Excused.
var named = map[string]struct {
	sim.Schedule
	least sim.Facts
	most  int
}{
	"task host killed":                          {one(halfway, "", sim.KillHost, 0, 0), sim.Facts{sim.Hosts: 3, sim.Reruns: 1}, 0},
	"task host frozen":                          {one(halfway, "", sim.FreezeHost, 0, minute), sim.Facts{sim.Hosts: 3, sim.Reruns: 1}, 0},
	"task hosts disconnected":                   {one(halfway, "", sim.CutData, 0, 0), sim.Facts{sim.Reruns: 1}, 0},
	"task hosts do not start":                   {free(one(0, "startContainers", sim.BreakNode, 1, minute)), sim.Facts{sim.Workers: 3, sim.NoHosts: 1}, 0},
	"worker killed":                             {free(one(halfway, "", sim.KillWorker, 0, 0)), sim.Facts{sim.Workers: 3, sim.Reruns: 1}, 0},
	"worker frozen":                             {free(one(halfway, "", sim.FreezeWorker, 0, minute)), sim.Facts{sim.Workers: 3, sim.Reruns: 1}, 0},
	"worker beside its master killed":           {uber(free(one(halfway, "", sim.KillWorker, 0, 0))), sim.Facts{sim.Uber: 2, sim.Reruns: 1}, 3},
	"worker beside its master frozen":           {uber(free(one(halfway, "", sim.FreezeWorker, 0, minute))), sim.Facts{sim.Uber: 2, sim.Reruns: 1}, 3},
	"master killed with its worker":             {uber(one(halfway, "", sim.KillMaster, 0, 0)), sim.Facts{sim.Masters: 2, sim.Uber: 2}, 0},
	"worker's container taken back":             {free(one(halfway, "", sim.TakeBack, 0, 0)), sim.Facts{sim.Workers: 3, sim.Reruns: 1}, 0},
	"machine lost":                              {free(one(halfway, "", sim.LoseNode, 0, 150*time.Second)), sim.Facts{sim.Workers: 3, sim.Reruns: 1}, 0},
	"node of a worker stops":                    {free(one(halfway, "", sim.StopNode, 0, 150*time.Second)), sim.Facts{sim.Workers: 3, sim.Reruns: 1}, 0},
	"node of the master stops":                  {one(halfway, "", sim.StopNode, 1, 150*time.Second), sim.Facts{sim.Masters: 2}, 0},
	"NodeManager answers nothing":               {one(0, "registerApplicationMaster", sim.HangNode, 1, 2*minute), sim.Facts{"held startContainers": 1}, 0},
	"NodeManager answers nothing at the end":    {one(0, commits, sim.HangNode, 1, minute), sim.Facts{"held stopContainers": 1}, 0},
	"NodeManager of a worker cut off":           {on(longer, free(one(halfway, "", sim.CutManager, 1, 3*minute))), sim.Facts{sim.Workers: 3, sim.Reruns: 1}, 0},
	"NodeManager cut off":                       {on(longer, one(halfway, "", sim.CutManager, 0, 4*minute)), sim.Facts{sim.Masters: 2}, 0},
	"node cut off from YARN":                    {on(longer, one(halfway, "", sim.CutNode, 0, 6*minute)), sim.Facts{sim.Masters: 2, sim.Beside: 1}, 0},
	"streams cut":                               {free(one(halfway, "", sim.CutStreams, 0, 0)), sim.Facts{sim.Streams: 6, sim.Reruns: 1}, 0},
	"streams stall":                             {free(one(halfway, "", sim.StallStreams, 0, minute)), sim.Facts{sim.Workers: 3, sim.Streams: 6, sim.Reruns: 1}, 0},
	"master killed":                             {one(halfway, "", sim.KillMaster, 0, 0), sim.Facts{sim.Masters: 2, sim.Adopted: 2}, 2},
	"master killed twice":                       {sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{At: halfway / 2, Kind: sim.KillMaster}, {At: halfway, Kind: sim.KillMaster}}}, sim.Facts{sim.Masters: 3, sim.Adopted: 4}, 2},
	"master killed, and a worker hangs":         {on(longer, sim.Schedule{Jobs: 1, Faults: []sim.Fault{{At: halfway, Kind: sim.KillMaster}, {At: halfway, Kind: sim.HangWorker}}}), sim.Facts{sim.Masters: 2, sim.Adopted: 1, sim.GivenBack: 1}, 0},
	"master killed after the commit":            {one(0, commits, sim.KillMaster, 0, 0), sim.Facts{sim.Masters: 2}, 0},
	"master without high availability killed":   {unprotected(one(0, commits, sim.KillMaster, 0, 0)), sim.Facts{sim.Masters: 2}, 0},
	"master killed as it archives a job":        {archiving(one(0, "rename2 .* /history/job1$", sim.KillMaster, 0, 0)), sim.Facts{sim.Masters: 2, sim.Archived: 1}, 0},
	"master frozen as it archives a job":        {archiving(one(0, "rename2 .* /history/job1$", sim.FreezeMaster, 0, 15*minute)), sim.Facts{sim.Masters: 2, sim.Archived: 1}, 0},
	"archived job runs again":                   {unprotected(archiving(sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{Call: "rename2 .* /history/job1$", Kind: sim.KillMaster, After: true}}})), sim.Facts{sim.Masters: 2, sim.Archived: 2}, 0},
	"HDFS away when a job has ended":            {away, sim.Facts{sim.Archived: 4, sim.Canceled: 1, "held delete": 2}, 0},
	"master killed after a stop":                {inSession(one(0, "rename2 .*/live-1/.* .*/outcome$", sim.KillMaster, 0, 0)), sim.Facts{sim.Masters: 2}, 0},
	"master frozen as it removes its files":     {one(0, "delete -r .*/ended-1$", sim.FreezeMaster, 0, 40*time.Second), sim.Facts{sim.Masters: 1}, 0},
	"master frozen":                             {one(halfway, "", sim.FreezeMaster, 0, 4*minute), sim.Facts{sim.Masters: 2}, 0},
	"master frozen with an answer of YARN":      {freezing(halfway, 170*time.Second, sim.Fault{At: halfway + 6*time.Second, Kind: sim.CutNode, Victim: 1, Time: 5 * minute}), sim.Facts{sim.Masters: 2}, 0},
	"master frozen with new containers":         {freezing(8*time.Second, 3*minute, sim.Fault{At: 8 * time.Second, Call: allocates, Kind: sim.CutManager, Victim: 1, Time: 5 * minute}), sim.Facts{sim.Masters: 2}, 0},
	"master frozen as it begins":                {freezing(0, 3*minute, sim.Fault{Call: "appattempt.* load", Kind: sim.CutManager, Victim: 1, Time: 5 * minute}), sim.Facts{sim.Masters: 2}, 0},
	"answer to the second registration lost":    {sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{At: halfway, Kind: sim.KillMaster}, {At: halfway, Call: "_000002 registerApplicationMaster", Kind: sim.LoseAnswer}}}, sim.Facts{sim.Masters: 2, sim.Adopted: 2, "unanswered registerApplicationMaster": 1}, 2},
	"program starts again after its commit":     {sim.Schedule{Seed: long, Jobs: 1, Mode: sim.Application, Faults: []sim.Fault{{Call: commits, Kind: sim.KillMaster}}}, sim.Facts{sim.Masters: 2, sim.Programs: 2}, 0},
	"master wakes beside its successor":         {sim.Schedule{Seed: longer, Jobs: 2, Mode: sim.Session, Faults: []sim.Fault{{At: halfway, Kind: sim.MakeZombie, Time: 5 * minute}}}, sim.Facts{sim.Masters: 2, sim.Beside: 1}, 0},
	"master wakes in the middle of a start":     {sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{Call: "startContainers", Kind: sim.LoseCall}, {At: 8500 * time.Millisecond, Kind: sim.MakeZombie, Time: 4 * minute}}}, sim.Facts{sim.Masters: 2, sim.Beside: 1, "lost startContainers": 1}, 0},
	"master dies as it stores a result":         {sim.Schedule{Seed: long, Jobs: 2, Mode: sim.Session, Faults: []sim.Fault{{Call: results, Kind: sim.LoseCall}, {Call: results, Kind: sim.KillMaster}}}, sim.Facts{sim.Masters: 2, "lost rename2": 1}, 0},
	"two masters wake beside their successor":   {sim.Schedule{Seed: longer, Jobs: 2, Mode: sim.Session, Faults: []sim.Fault{{At: halfway, Kind: sim.MakeZombie, Time: 12 * minute}, {At: halfway, Call: "_000002 startContainers|_000002 rename2 .*/am-", After: true, Kind: sim.MakeZombie, Victim: 1, Time: 6 * minute}}}, sim.Facts{sim.Masters: 3, sim.Beside: 2}, 0},
	"master dies while HDFS is away":            {sim.Schedule{Seed: long, Jobs: 1, Faults: []sim.Fault{{At: halfway, Kind: sim.StopHDFS, Time: 10 * minute}, {At: halfway, Kind: sim.KillMaster}}}, sim.Facts{sim.Masters: 2, "held getListing": 1}, 0},
	"master killed for good":                    {onlyOnce(one(halfway, "", sim.KillMaster, 0, 0)), sim.Facts{sim.Failed: 1}, 0},
	"master cut off from YARN at its end":       {one(0, commits, sim.CutNode, 1, 6*minute), sim.Facts{sim.Masters: 2, sim.Beside: 1, "held finishApplicationMaster": 1}, 0},
	"master killed while jobs lack slots":       {sim.Schedule{Seed: 36990, Jobs: 4, Mode: sim.Session, Failover: "full", Tasks: 3, Slots: 4, Faults: []sim.Fault{{Call: results, Kind: sim.KillMaster, After: true}}}, sim.Facts{sim.Masters: 2, sim.Adopted: 1}, 0},
	"client killed":                             {one(halfway, "", sim.KillClient, 0, 0), sim.Facts{sim.Orphaned: 1}, 0},
	"message of an old leader":                  {one(halfway, "", sim.OldLeader, 0, 0), sim.Facts{sim.Outdated: 16}, 0},
	"ResourceManager rolls its key":             {one(halfway, "", sim.RollKey, 0, 0), sim.Facts{sim.Rekeyed: 1}, 0},
	"ResourceManager loses its state":           {one(halfway, "", sim.ForgetYARN, 0, 0), sim.Facts{sim.Unknown: 1, sim.Excused: 1}, 0},
	"ResourceManager away":                      {one(halfway, "", sim.StopYARN, 0, 30*time.Second), sim.Facts{"refused allocate": 1}, 0},
	"ResourceManager away at the end":           {one(0, commits, sim.StopYARN, 0, 40*time.Second), sim.Facts{"refused finishApplicationMaster": 1}, 0},
	"ResourceManager away at submission":        {one(0, "", sim.StopYARN, 0, 30*time.Second), sim.Facts{"refused getNewApplication": 1}, 0},
	"answer to the submission lost":             {one(0, "submitApplication", sim.LoseAnswer, 0, 0), sim.Facts{"unanswered submitApplication": 1}, 0},
	"answer to the request for containers lost": {one(0, "allocate", sim.LoseAnswer, 0, 0), sim.Facts{"unanswered allocate": 1}, 0},
	"answer to a start lost":                    {one(0, "startContainers", sim.LoseAnswer, 0, 0), sim.Facts{"unanswered startContainers": 1}, 0},
	"answer to the end lost":                    {one(0, finishes, sim.LoseAnswer, 0, 0), sim.Facts{"unanswered finishApplicationMaster": 1}, 0},
	"HDFS away during the commit":               {one(0, commits, sim.StopHDFS, 0, minute), sim.Facts{"held rename2": 1}, 0},
	"HDFS away while a worker copies a file":    {inSession(on(apart, one(0, "readBlock .*/cities$", sim.StopHDFS, 0, minute))), sim.Facts{sim.Files: 1, "held readBlock": 1}, 0},
	"no room at first":                          {one(0, "registerApplicationMaster", sim.FillNodes, 0, minute), sim.Facts{sim.Waited: 30}, 0},
	"no room for longer than the time-out":      {waiting(minute, one(0, "registerApplicationMaster", sim.FillNodes, 0, 3*minute)), sim.Facts{sim.Waited: 150, sim.Reruns: 6}, 0},
	"worker lost before jobs of two sizes run":  {on(twoSizes, inGroups(one(0, "registerApplicationMaster", sim.FillNodes, 0, minute), sim.Fault{At: 75 * time.Second, Kind: sim.KillWorker})), sim.Facts{sim.Workers: 5, sim.Hosts: 9, sim.Waited: 60}, 0},
	"room for a part of the job":                {sim.Schedule{Seed: apart, Jobs: 1, Slots: 2}, sim.Facts{sim.Workers: 1}, 1},
	"task host killed, and all tasks restart":   {sim.Schedule{Seed: apart, Jobs: 1, Slots: 2, Failover: "full", Faults: []sim.Fault{{At: halfway, Kind: sim.KillHost}}}, sim.Facts{sim.Hosts: 2, sim.Reruns: 2}, 0},
	"answer to the commit lost":                 {one(0, commits, sim.LoseAnswer, 0, 0), sim.Facts{"unanswered rename2": 1}, 0},
	"job of a session fails":                    {free(inSession(sim.Schedule{Seed: long, Jobs: 2, Faults: []sim.Fault{{At: halfway, Kind: sim.KillHost}}})), sim.Facts{sim.FailedJobs: 1}, 0},
	"cancelled tasks of two parts do not end":   {sim.Schedule{Seed: 39396, Jobs: 2, Mode: sim.Application, Uber: true, Tasks: 2, Redundant: 1, Floor: 3, Total: "cpu", Balance: "SLOTS", Stubborn: true, Faults: []sim.Fault{{At: 51_862_543_007, Kind: sim.HangHost}}}, sim.Facts{sim.Hosts: 4, sim.Reruns: 2}, 0},
	"cancelled task does not end":               {stubborn(inSession(one(halfway, "", sim.CancelJob, 0, 0))), sim.Facts{sim.Canceled: 1, sim.Stuck: 1}, 0},
	"registration arrives late":                 {free(one(0, "startContainers", sim.HoldRegistration, 0, minute)), sim.Facts{sim.HeldBack: 1, sim.Streams: 5}, 2},
	"registration at a job arrives late":        {free(one(0, "startContainers", sim.HoldRegistration, 1, minute)), sim.Facts{sim.HeldBack: 1, sim.Streams: 5}, 2},
	"job of a session cancelled":                {inSession(one(halfway, "", sim.CancelJob, 0, 0)), sim.Facts{sim.Canceled: 1}, 0},
	"program killed":                            {program(one(halfway, "", sim.KillProgram, 0, 0)), sim.Facts{sim.Failed: 1, sim.Excused: 1}, 0},
	"program starts again":                      {program(one(halfway, "", sim.KillMaster, 0, 0)), sim.Facts{sim.Masters: 2, sim.Programs: 2}, 0},
	"job larger than the cluster":               {larger(), sim.Facts{sim.Waves: 2, sim.Partitions: 8}, 2},
	"later part larger than the cluster":        {later(), sim.Facts{sim.Waves: 5, sim.Reruns: 6}, 3},
	"master killed as the job begins anew":      {later(sim.Fault{Call: sinks, Kind: sim.KillMaster}), sim.Facts{sim.Masters: 2, sim.Waves: 4, sim.Held: 4}, 0},
	"worker killed as the job begins anew":      {later(sim.Fault{At: 261 * time.Second, Kind: sim.KillWorker}), sim.Facts{sim.Workers: 3, sim.Waves: 6}, 0},
	"worker with partitions killed":             {free(blocking(sim.KillWorker, 1, 0)), sim.Facts{sim.Workers: 3, sim.Reruns: 2}, 0},
	"worker killed, and the job runs in waves":  {free(larger(sim.Fault{Call: sinks, Kind: sim.KillWorker})), sim.Facts{sim.Workers: 3, sim.Reruns: 2}, 0},
	"worker with partitions frozen":             {free(blocking(sim.FreezeWorker, 0, minute)), sim.Facts{sim.Workers: 3, sim.Reruns: 2}, 0},
	"partition damaged":                         {atMost(1, blocking(sim.DamagePartition, 0, 0)), sim.Facts{sim.NotRead: 1, sim.Reruns: 2}, 2},
	"disk with partitions fails":                {atMost(2, blocking(sim.BreakDisk, 0, minute)), sim.Facts{sim.NotRead: 1, sim.Reruns: 2}, 2},
	"disk with many partitions fails":           {atMost(2, on(7, larger(sim.Fault{Call: sinks, Kind: sim.BreakDisk, Time: minute}))), sim.Facts{sim.NotRead: 4, sim.Reruns: 10}, 2},
	"readers of partitions disconnected":        {atMost(1, blocking(sim.CutPartitions, 0, 0)), sim.Facts{sim.Reruns: 1}, 2},
	"task host killed after its tasks":          {blocking(sim.KillHost, 0, 0), sim.Facts{sim.Hosts: 3, sim.Reruns: 1}, 2},
	"master killed with partitions":             {blocking(sim.KillMaster, 0, 0), sim.Facts{sim.Masters: 2, sim.Held: 4, sim.Spared: 3}, 2},
	"master killed before it stores a commit":   {sim.Schedule{Seed: long, Jobs: 1, Edges: sim.Blocking, Faults: []sim.Fault{{Call: stores, Kind: sim.LoseCall}, {Call: stores, Kind: sim.KillMaster}}}, sim.Facts{sim.Masters: 2, sim.Held: 1}, 2},
	"master killed, and the job runs in waves":  {larger(sim.Fault{Call: sinks, Kind: sim.KillMaster}), sim.Facts{sim.Masters: 2, sim.Held: 4}, 2},
	"task host frozen with slow tasks":          {speculative(hung), sim.Facts{sim.Further: 2}, 3},
	"node slow":                                 {speculative(slow), sim.Facts{sim.Further: 2}, 3},
	"slow tasks, and no other node":             {narrow(speculative(sim.Fault{At: 18500 * time.Millisecond, Kind: sim.SlowNode, Victim: 2, Time: 3 * minute})), sim.Facts{sim.Workers: 1}, 1},
	"two attempts finish at the same time":      {closing(30 * time.Second), sim.Facts{sim.FinishedAgain: 1}, 0},
	"worker killed as another attempt finishes": {closing(10*time.Second, sim.Fault{At: 22570 * time.Millisecond, Kind: sim.KillWorker}), sim.Facts{sim.Further: 1, sim.Workers: 2}, 0},
	"master killed as two attempts finish":      {closing(40*time.Second, sim.Fault{At: 40 * time.Second, Kind: sim.KillMaster}), sim.Facts{sim.Masters: 2, sim.Held: 5}, 0},
	"tokens end during the job":                 {brief(minute), sim.Facts{sim.Tokens: 6}, 0},
	"KDC away when tokens are due":              {brief(4*minute, sim.Fault{At: 170 * time.Second, Kind: sim.StopKDC, Time: minute}), sim.Facts{sim.Tokens: 2, "refused getDelegationToken": 1}, 0},
	"KDC away until tokens end":                 {brief(minute, sim.Fault{At: halfway, Kind: sim.StopKDC, Time: 4 * minute}), sim.Facts{sim.Reruns: 1, "expired getFileInfo": 1}, 0},
}

// TestNamedSchedules would catch a failure of docs/reliability.md that breaks a rule, and a schedule that
// does not meet its failure any more.
func TestNamedSchedules(t *testing.T) {
	t.Parallel()
	for name, n := range named {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := n.Run(nil)
			if err != nil {
				t.Fatal(err)
			}
			report(t, n.Schedule, r)
			for fact, least := range n.least {
				if got := r.Facts[fact]; got < least {
					t.Errorf("the run has %d × %s, want %d at least; all facts are %v", got, fact, least, r.Facts)
				}
			}
			if got := r.Facts[sim.Excused]; got > 0 && n.least[sim.Excused] == 0 {
				t.Errorf("the run excuses %d applications, want success", got)
			}
			if got := r.Facts[sim.Workers]; n.most > 0 && got > n.most {
				t.Errorf("the run has %d workers, want %d at most", got, n.most)
			}
		})
	}
}
