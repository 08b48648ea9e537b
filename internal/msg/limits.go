package msg

// MaxWorkerMessage bounds an encoded message of a task host to its TaskExecutor, and of a TaskExecutor
// to a role, in bytes. The receiver ends a peer that announces a longer one. A TaskExecutor's own limit
// of memory is 32 MB (internal/memory), and a hundred workers may write to one ApplicationMaster at the
// same time. The longest messages of honest peers:
//
//	TaskStatesChanged     1,109 KiB  one change: 1 MiB of counters (maxTaskCounters, and shorter when they
//	                                 are encoded), 64 KiB of users' metrics (maxTaskMetrics), a failure of
//	                                 20 KiB, and 1 KiB; several changes: 256 KiB
//	TasksProgress         1,576 KiB  4,096 tasks (MaxProgress) of 138 bytes, and 1 MiB of users' metrics
//	                                 (MaxProgressMetrics)
//	HeldPartitions        1,109 KiB  one task, as TaskStatesChanged; several tasks: 256 KiB
//	CollectBatch            257 KiB  operator.MaxCollectBatch and 1 KiB
//	CommitPrepared          897 KiB  32,768 winners (jobgraph.MaxParallelism) of 28 bytes at most
//	HostLost                 21 KiB  a failure
//	Inquired                513 KiB  the stacks of all goroutines (MaxGoroutines)
//	SlotRequestsAnswered  2,048 KiB  3,495 refused slots of 600 bytes, in a container of 223 GB at least
//	SlotReport            1,088 KiB  3,495 slots of 200 bytes, and MostMeasuredHosts of 820 bytes
//	OfferSlots, SlotsFreed, RegisterTaskExecutor: 200 bytes a slot
const MaxWorkerMessage = 2 << 20
