package config

import "time"

// The options. Each has a row in the table below.
const (
	ExecutionTarget   StringKey   = "execution.target"
	ExecutionAttached BoolKey     = "execution.attached"
	ClientTimeout     DurationKey = "client.timeout"

	ClientHeartbeatInterval DurationKey = "client.heartbeat.interval"
	ClientHeartbeatTimeout  DurationKey = "client.heartbeat.timeout"
	ShutdownOnAttachedExit  BoolKey     = "execution.shutdown-on-attached-exit"
	ShutdownOnFinish        BoolKey     = "execution.shutdown-on-application-finish"

	YarnApplicationID          StringKey = "yarn.application.id"
	YarnPropertiesFileLocation StringKey = "yarn.properties-file.location"

	ParallelismDefault IntKey      = "parallelism.default"
	BufferTimeout      DurationKey = "execution.buffer-timeout"

	YarnApplicationName     StringKey = "yarn.application.name"
	YarnApplicationType     StringKey = "yarn.application.type"
	YarnApplicationQueue    StringKey = "yarn.application.queue"
	YarnApplicationPriority IntKey    = "yarn.application.priority"
	YarnTags                StringKey = "yarn.tags"
	YarnApplicationAttempts IntKey    = "yarn.application-attempts"
	YarnUber                StringKey = "yarn.application.uber"
	YarnAppMasterVCores     IntKey    = "yarn.appmaster.vcores"
	YarnContainersVCores    IntKey    = "yarn.containers.vcores"
	YarnStagingDirectory    StringKey = "yarn.staging-directory"
	YarnFileReplication     IntKey    = "yarn.file-replication"
	YarnMasterPort          PortsKey  = "yarn.application-master.port"

	YarnAttemptFailuresValidity IntKey      = "yarn.application-attempt-failures-validity-interval"
	YarnApplicationLifetime     DurationKey = "yarn.application.lifetime"
	YarnNodeLabel               StringKey   = "yarn.application.node-label"
	YarnWorkerNodeLabel         StringKey   = "yarn.taskmanager.node-label"
	YarnWorkerPlacement         StringKey   = "yarn.taskmanager.placement-constraint"
	YarnWorkerExecution         StringKey   = "yarn.taskmanager.execution-type"
	YarnRolledLogsInclude       StringKey   = "yarn.rolled-logs.include-pattern"
	YarnRolledLogsExclude       StringKey   = "yarn.rolled-logs.exclude-pattern"

	YarnShipFiles       StringKey = "yarn.ship-files"
	YarnShipArchives    StringKey = "yarn.ship-archives"
	YarnProvidedLibDirs StringKey = "yarn.provided.lib.dirs"
	YarnProvidedUsrlib  StringKey = "yarn.provided.usrlib.dir"
	YarnDistribution    StringKey = "yarn.flink-dist-jar"

	StagingCacheSize MemoryKey   = "staging.cache.max-size"
	StagingMinAge    DurationKey = "staging.gc.min-age"

	YarnViewACLs   StringKey = "yarn.view.acls"
	YarnModifyACLs StringKey = "yarn.modify.acls"

	ExternalResources StringKey = "external-resources"
	ExternalResource  PrefixKey = "external-resource."

	YarnHeartbeatInterval        DurationKey = "yarn.heartbeat.interval"
	YarnContainerRequestInterval DurationKey = "yarn.heartbeat.container-request-interval"

	ContainerMasterEnv PrefixKey = "containerized.master.env."
	ContainerWorkerEnv PrefixKey = "containerized.taskmanager.env."
	HadoopOptions      PrefixKey = "flink.hadoop."
	YarnOptions        PrefixKey = "flink.yarn."

	JobManagerProcessSize      MemoryKey   = "jobmanager.memory.process.size"
	JobManagerFlinkSize        MemoryKey   = "jobmanager.memory.flink.size"
	JobManagerHeapSize         MemoryKey   = "jobmanager.memory.heap.size"
	JobManagerOffHeapSize      MemoryKey   = "jobmanager.memory.off-heap.size"
	JobManagerOverheadFraction FractionKey = "jobmanager.memory.jvm-overhead.fraction"
	JobManagerOverheadMin      MemoryKey   = "jobmanager.memory.jvm-overhead.min"
	JobManagerOverheadMax      MemoryKey   = "jobmanager.memory.jvm-overhead.max"

	ArchiveDir StringKey = "jobmanager.archive.fs.dir"

	HistoryAddress      StringKey   = "historyserver.web.address"
	HistoryPort         IntKey      = "historyserver.web.port"
	HistorySSL          BoolKey     = "historyserver.web.ssl.enabled"
	HistoryCertificate  StringKey   = "historyserver.web.ssl.certificate"
	HistoryKey          StringKey   = "historyserver.web.ssl.key"
	HistoryWebRefresh   DurationKey = "historyserver.web.refresh-interval"
	HistoryTempDir      StringKey   = "historyserver.web.tmpdir"
	HistoryDirs         StringKey   = "historyserver.archive.fs.dir"
	HistoryRefresh      DurationKey = "historyserver.archive.fs.refresh-interval"
	HistoryCleanExpired BoolKey     = "historyserver.archive.clean-expired-jobs"
	HistoryRetained     IntKey      = "historyserver.archive.retained-jobs"
	HistoryMasterLog    StringKey   = "historyserver.log.jobmanager.url-pattern"
	HistoryWorkerLog    StringKey   = "historyserver.log.taskmanager.url-pattern"

	RESTBindPort            PortsKey    = "rest.bind-port"
	PrometheusPort          PortsKey    = "metrics.reporter.prom.port"
	RESTMaxContentLength    MemoryKey   = "rest.server.max-content-length"
	RESTMaxProgramSize      MemoryKey   = "rest.programs.max-size"
	RESTAsyncStoreDuration  DurationKey = "rest.async.store-duration"
	RESTProfiling           BoolKey     = "rest.profiling.enabled"
	RESTProfilingMax        DurationKey = "rest.profiling.duration-max"
	RESTProfilingHistory    IntKey      = "rest.profiling.history-size"
	RESTFlames              BoolKey     = "rest.flamegraph.enabled"
	RESTFlamesRefresh       DurationKey = "rest.flamegraph.refresh-interval"
	RESTAccessFile          StringKey   = "rest.access-file"
	RESTProxyChanges        BoolKey     = "rest.proxy.changes.enable"
	RESTKeytab              StringKey   = "rest.spnego.keytab"
	RESTPrincipal           StringKey   = "rest.spnego.principal"
	JobStoreExpirationTime  DurationKey = "jobstore.expiration-time"
	JobStoreMaxCapacity     IntKey      = "jobstore.max-capacity"
	JobStoreCacheSize       MemoryKey   = "jobstore.cache-size"
	ServicesShutdownTimeout DurationKey = "cluster.services.shutdown-timeout"
	LoggingLevel            StringKey   = "logging.level"
	SSLInternalEnabled      BoolKey     = "security.ssl.internal.enabled"
	RESTCertificate         StringKey   = "security.ssl.rest.certificate"
	RESTCertificateKey      StringKey   = "security.ssl.rest.key"

	KerberosKeytab          StringKey = "security.kerberos.login.keytab"
	KerberosPrincipal       StringKey = "security.kerberos.login.principal"
	KerberosUseTicketCache  BoolKey   = "security.kerberos.login.use-ticket-cache"
	Krb5ConfPath            StringKey = "security.kerberos.krb5-conf.path"
	KerberosFileSystems     StringKey = "security.kerberos.access.hadoopFileSystems"
	YarnTokenServices       StringKey = "yarn.security.appmaster.delegation.token.services"
	YarnShipLocalKeytab     BoolKey   = "yarn.security.kerberos.ship-local-keytab"
	YarnLocalizedKeytabPath StringKey = "yarn.security.kerberos.localized-keytab-path"
	ProxyUser               StringKey = "security.proxy-user"
	DelegationTokensEnabled BoolKey   = "security.delegation.tokens.enabled"
	HadoopFSProviderEnabled BoolKey   = "security.delegation.token.provider.hadoopfs.enabled"

	DelegationTokensRenewalRatio FractionKey = "security.delegation.tokens.renewal.time-ratio"
	DelegationTokensRetryBackoff DurationKey = "security.delegation.tokens.renewal.retry.backoff"

	HighAvailabilityType       StringKey = "high-availability.type"
	HighAvailabilityStorageDir StringKey = "high-availability.storageDir"
	HighAvailabilityClusterID  StringKey = "high-availability.cluster-id"

	HeartbeatInterval          DurationKey = "heartbeat.interval"
	HeartbeatTimeout           DurationKey = "heartbeat.timeout"
	HeartbeatFailureThreshold  IntKey      = "heartbeat.rpc-failure-threshold"
	RegistrationInitialTimeout DurationKey = "cluster.registration.initial-timeout"
	RegistrationMaxTimeout     DurationKey = "cluster.registration.max-timeout"

	WorkerIdleTimeout         DurationKey = "resourcemanager.taskmanager-timeout"
	WorkerRegistrationTimeout DurationKey = "resourcemanager.taskmanager-registration.timeout"
	PreviousWorkerRecovery    DurationKey = "resourcemanager.previous-worker.recovery.timeout"
	StartWorkerMaxFailureRate FractionKey = "resourcemanager.start-worker.max-failure-rate"
	StartWorkerRetryInterval  DurationKey = "resourcemanager.start-worker.retry-interval"
	SlotsMin                  IntKey      = "slotmanager.number-of-slots.min"
	SlotsMax                  IntKey      = "slotmanager.number-of-slots.max"
	MinTotalCPU               FractionKey = "slotmanager.min-total-resource.cpu"
	MaxTotalCPU               FractionKey = "slotmanager.max-total-resource.cpu"
	MinTotalMemory            MemoryKey   = "slotmanager.min-total-resource.memory"
	MaxTotalMemory            MemoryKey   = "slotmanager.max-total-resource.memory"
	RedundantWorkers          IntKey      = "slotmanager.redundant-taskmanager-num"
	LoadBalanceMode           StringKey   = "taskmanager.load-balance.mode"
	EvenlySpreadOutSlots      BoolKey     = "cluster.evenly-spread-out-slots"
	SlotRequestTimeout        DurationKey = "slot.request.timeout"
	SlotIdleTimeout           DurationKey = "slot.idle.timeout"

	ExceptionHistorySize      IntKey      = "web.exception-history-size"
	AttemptsHistorySize       IntKey      = "jobmanager.execution.attempts-history-size"
	FailoverStrategy          StringKey   = "jobmanager.execution.failover-strategy"
	RestartStrategy           StringKey   = "restart-strategy.type"
	FixedDelayAttempts        IntKey      = "restart-strategy.fixed-delay.attempts"
	FixedDelayDelay           DurationKey = "restart-strategy.fixed-delay.delay"
	FailureRateMaxFailures    IntKey      = "restart-strategy.failure-rate.max-failures-per-interval"
	FailureRateInterval       DurationKey = "restart-strategy.failure-rate.failure-rate-interval"
	FailureRateDelay          DurationKey = "restart-strategy.failure-rate.delay"
	ExponentialInitialBackoff DurationKey = "restart-strategy.exponential-delay.initial-backoff"
	ExponentialMaxBackoff     DurationKey = "restart-strategy.exponential-delay.max-backoff"
	ExponentialMultiplier     FractionKey = "restart-strategy.exponential-delay.backoff-multiplier"
	ExponentialResetThreshold DurationKey = "restart-strategy.exponential-delay.reset-backoff-threshold"
	ExponentialJitter         FractionKey = "restart-strategy.exponential-delay.jitter-factor"
	ExponentialMaxAttempts    IntKey      = "restart-strategy.exponential-delay.attempts-before-reset-backoff"

	TaskManagerProcessSize         MemoryKey   = "taskmanager.memory.process.size"
	TaskManagerFlinkSize           MemoryKey   = "taskmanager.memory.flink.size"
	TaskManagerFrameworkHeapSize   MemoryKey   = "taskmanager.memory.framework.heap.size"
	TaskManagerTaskHeapSize        MemoryKey   = "taskmanager.memory.task.heap.size"
	TaskManagerTaskOffHeapSize     MemoryKey   = "taskmanager.memory.task.off-heap.size"
	TaskManagerManagedSize         MemoryKey   = "taskmanager.memory.managed.size"
	TaskManagerManagedFraction     FractionKey = "taskmanager.memory.managed.fraction"
	TaskManagerNetworkFraction     FractionKey = "taskmanager.memory.network.fraction"
	TaskManagerNetworkMin          MemoryKey   = "taskmanager.memory.network.min"
	TaskManagerNetworkMax          MemoryKey   = "taskmanager.memory.network.max"
	TaskManagerOverheadFraction    FractionKey = "taskmanager.memory.jvm-overhead.fraction"
	TaskManagerOverheadMin         MemoryKey   = "taskmanager.memory.jvm-overhead.min"
	TaskManagerOverheadMax         MemoryKey   = "taskmanager.memory.jvm-overhead.max"
	TaskManagerCores               FractionKey = "taskmanager.cpu.cores"
	TaskSlots                      IntKey      = "taskmanager.numberOfTaskSlots"
	LocalTaskManagers              IntKey      = "local.number-taskmanager"
	TaskManagerSlotTimeout         DurationKey = "taskmanager.slot.timeout"
	TaskManagerRegistrationTimeout DurationKey = "taskmanager.registration.timeout"
	FetchRetries                   IntKey      = "blob.fetch.retries"
	PipelineCachedFiles            StringKey   = "pipeline.cached-files"
	PipelineShowElement            BoolKey     = "pipeline.errors.show-element"
	BatchShuffleMode               StringKey   = "execution.batch-shuffle-mode"
	PipelineJoinSizes              StringKey   = "pipeline.join-sizes"
	JoinBroadcastThreshold         IntKey      = "table.optimizer.join.broadcast-threshold"
	BatchShuffleCompression        BoolKey     = "taskmanager.network.batch-shuffle.compression.enabled"
	SortShuffleMinBuffers          IntKey      = "taskmanager.network.sort-shuffle.min-buffers"
	PreviousWorkerTimeout          DurationKey = "execution.batch.job-recovery.previous-worker.recovery.timeout"
	SpeculativeEnabled             BoolKey     = "execution.batch.speculative.enabled"
	SpeculativeAttempts            IntKey      = "execution.batch.speculative.max-concurrent-executions"
	SpeculativeBlockTime           DurationKey = "execution.batch.speculative.block-slow-node-duration"
	SlowTaskInterval               DurationKey = "slow-task-detector.check-interval"
	SlowTaskLowerBound             DurationKey = "slow-task-detector.execution-time.baseline-lower-bound"
	SlowTaskMultiplier             FractionKey = "slow-task-detector.execution-time.baseline-multiplier"
	SlowTaskRatio                  FractionKey = "slow-task-detector.execution-time.baseline-ratio"
	TaskCancellationInterval       DurationKey = "task.cancellation.interval"
	TaskCancellationTimeout        DurationKey = "task.cancellation.timeout"
)

// Origins.
const (
	flink = "Flink"
	ours  = "Bobbin"
)

// Values of HighAvailabilityType.
const (
	HighAvailabilityYARN = "yarn"
	HighAvailabilityNone = "NONE"
)

// Values of YarnUber.
const (
	UberNever = "never"
	UberAuto  = "auto"
)

// The targets: values of ExecutionTarget.
const (
	TargetLocal       = "local"
	TargetRemote      = "remote"
	TargetPerJob      = "yarn-per-job"
	TargetSession     = "yarn-session"
	TargetApplication = "yarn-application"
)

// The values of LoadBalanceMode.
const (
	BalanceNone  = "NONE"
	BalanceSlots = "SLOTS"
	BalanceTasks = "TASKS"
	// ShuffleAutomatic is the default of BatchShuffleMode.
	ShuffleAutomatic = "AUTOMATIC"
)

// TokensOfHDFS names HDFS in YarnTokenServices.
const TokensOfHDFS = "hadoopfs"

const (
	unlimited       = "2147483647" // Integer.MAX_VALUE, Flink's "no limit"
	unlimitedMemory = "8388607t"   // the most that Bytes can count
)

// table is every option, in the order of the reference.
var table = []Definition{ //nolint:gochecknoglobals // a constant table
	{Section: "Target and client", Key: ExecutionTarget, Default: "local", Choices: []string{TargetLocal, TargetRemote, TargetPerJob, TargetSession, TargetApplication}, Origin: flink + ": none", Doc: "Where `bobbin run` runs a program. The flag `-t`. If it is not set, the target is `remote` with `rest.access-file`, and `yarn-session` if a flag, an option or the properties file names a session."},
	{Key: ExecutionAttached, Default: "true", Origin: flink + ": set by its CLI", Doc: "Whether `bobbin run` follows the job to its end. `-d` sets it to false."},
	{Key: ClientTimeout, Default: "30 s", Range: Range{Above: "0"}, Origin: flink + ": 60 s", Doc: "How long the client and a planning program retry a server that does not answer: ResourceManager (unless `yarn.resourcemanager.connect.max-wait.ms` is configured), NameNode, ApplicationMaster. If an ApplicationMaster has answered before, they wait for it, or for its successor, until YARN ends the application. `bobbin doctor` gives each server a third of this time."},
	{Key: ClientHeartbeatInterval, Default: "30 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Time between the heartbeats of a client whose job ends with it (`-sae`)."},
	{Key: ClientHeartbeatTimeout, Default: "180 s", Range: Range{Above: "0"}, Origin: flink, Doc: "With `-sae`, the cluster cancels a job when its client has been silent for this time. For other jobs: if a job's results wait for a client, and no client asks for the job for this time, the cluster drops the results."},
	{Key: ShutdownOnAttachedExit, Default: "false", Origin: flink, Doc: "Whether a followed job ends with its client, however the client ends. The flag `-sae`."},
	{Key: ShutdownOnFinish, Default: "true", Origin: flink, Doc: "Whether the cluster of `run-application` ends with its program and the program's jobs. If not, it stays until you stop it."},
	{Key: ParallelismDefault, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Parallelism of operators that set none. The flag `-p`."},
	{Key: PipelineCachedFiles, Origin: flink, Doc: "Files that each task of the job finds on its worker, separated by `;`: `name:cities,path:hdfs:///data/cities.csv;name:tool,path:/usr/local/bin/tool,executable:true`. A path without a scheme, or with `file:`, is on the machine that submits the job; it is uploaded once. `Subtask.CachedFile` gives a task the path of its copy. Quote a path that contains `,` or `;`."},
	{Key: PipelineShowElement, Default: "false", Origin: ours, Doc: "Whether the error of an operator's function shows the beginning of what it was called for: the element, both elements of a pair, or the key. Errors are in logs and on pages, which others may be able to read."},
	{Key: BatchShuffleMode, Default: "AUTOMATIC", Choices: []string{"AUTOMATIC", "ALL_EXCHANGES_PIPELINED", "ALL_EXCHANGES_BLOCKING"}, Refused: []string{"ALL_EXCHANGES_HYBRID_FULL=is not supported", "ALL_EXCHANGES_HYBRID_SELECTIVE=is not supported"}, Origin: flink + ": ALL_EXCHANGES_BLOCKING", Doc: "How tasks exchange records. Pipelined: the consumers run at the same time as the producers. Blocking: the records stay in files on the workers' disks until the producers have ended, so that consumers may run later, and a lost consumer alone runs again. `AUTOMATIC`: pipelined, except where the job could then wait for itself. If the cluster has too few slots for a part of the job, all exchanges become blocking, and the job runs in waves. A job of which parts have run before that begins anew, which uses up no restart; one that has begun to commit an output fails. `ALL_EXCHANGES_PIPELINED` refuses a job that could wait for itself, and fails one that gets too few slots."},
	{Key: JoinBroadcastThreshold, Default: "1048576", Range: Range{Least: "-1"}, Origin: flink, Doc: "A join without a hint sends a side of at most this many bytes to each of its subtasks. The size is that of the files above the side when the job is submitted. -1: no side is broadcast."},
	{Key: PipelineJoinSizes, Origin: ours, Doc: "The sizes of both sides of each join without a hint. The planner sets this option; do not set it."},
	{Key: BatchShuffleCompression, Default: "true", Origin: flink, Doc: "Whether the files of blocking exchanges are compressed (S2), block by block, where that makes a block smaller by an eighth. An option of the job."},
	{Key: SortShuffleMinBuffers, Default: "512", Range: Range{Least: "1", Most: "32768"}, Origin: flink, Doc: "Buffers of 32 KiB in which an output of a blocking exchange sorts its records before it writes them. Fewer if the task host has no memory for them (`taskmanager.memory.network.max`): half of its free buffers, and at least 16. With more, consumers read longer parts of the files at a time. An option of the job."},
	{Key: BufferTimeout, Default: "100 ms", Range: Range{Least: "1 ms"}, Origin: flink, Doc: "Longest time before a partly filled buffer is sent."},

	{Section: "The application in YARN", Key: YarnApplicationID, Origin: flink, Doc: "The application for commands such as `list` and `cancel`, and the session for `run -t yarn-session`. The flag `-id`. If it is not set, the properties file names the session that was started last."},
	{Key: YarnPropertiesFileLocation, Origin: flink, Doc: "Directory of the file `.bobbin-yarn-properties-USER`, in which `session start` names its session for later commands. If it is not set: the directory for temporary files."},
	{Key: YarnApplicationName, Origin: flink, Doc: "The application's name in YARN. The flag `-nm`. If it is not set: the job's name."},
	{Key: YarnApplicationType, Default: "Bobbin", Origin: flink + ": none", Doc: "The application's type in YARN."},
	{Key: YarnApplicationQueue, Origin: flink, Doc: "The queue. The flag `-qu`. If it is not set: YARN's default queue."},
	{Key: YarnApplicationPriority, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "The application's priority. -1 leaves it to YARN. YARN's `yarn.cluster.max-application-priority` limits it."},
	{Key: YarnTags, Origin: flink, Doc: "Tags of the application, separated by commas."},
	{Key: YarnApplicationAttempts, Default: "2", Otherwise: Otherwise{HighAvailabilityType, HighAvailabilityNone, "1"}, Range: Range{Least: "1"}, Origin: flink, Doc: "How often YARN starts the ApplicationMaster. YARN's `yarn.resourcemanager.am.max-attempts` limits it. [High availability](high-availability.md) says what outlives an ApplicationMaster."},
	{Key: YarnAttemptFailuresValidity, Default: "600000", Otherwise: Otherwise{HighAvailabilityType, HighAvailabilityNone, "-1"}, Range: Range{Least: "-1"}, Origin: flink + ": 10000", Doc: "Failures of the ApplicationMaster that are older than this many milliseconds do not count as attempts. So with two attempts, an application outlives one failure in each 10 minutes, and ends if its ApplicationMaster fails again and again. With -1 all failures count."},
	{Key: YarnApplicationLifetime, Default: "0", Unit: time.Second, Origin: ours, Doc: "YARN kills the application at this age. 0: never, unless the queue has a limit."},
	{Key: YarnNodeLabel, Origin: flink, Doc: "Label of the nodes for the ApplicationMaster, and for TaskExecutors unless `yarn.taskmanager.node-label` is set. The flag `-nl`."},
	{Key: YarnWorkerNodeLabel, Origin: flink, Doc: "Label of the nodes for TaskExecutors."},
	{Section: "Containers and nodes", Key: YarnUber, Default: UberNever, Choices: []string{UberNever, UberAuto}, Origin: ours, Doc: "Whether the worker of a small job runs in the ApplicationMaster's container (`run -t yarn-per-job`). `auto`: if one worker has slots enough for the job, and needs nothing that this container cannot have. The container has the memory of both. It counts against the queue's share for ApplicationMasters (`yarn.scheduler.capacity.maximum-am-resource-percent`). [Uber](uber.md)."},
	{Key: YarnAppMasterVCores, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Virtual cores of the ApplicationMaster's container."},
	{Key: YarnContainersVCores, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "Virtual cores of a TaskExecutor's container. -1: one for each slot. `taskmanager.cpu.cores` overrides it."},
	{Key: YarnWorkerPlacement, Origin: ours, Doc: "Placement constraint of YARN for TaskExecutors. Their containers have the tag `taskmanager`: `notin,node,taskmanager` puts one on each node. YARN's `yarn.resourcemanager.placement-constraints.handler` must be `scheduler`."},
	{Key: YarnWorkerExecution, Default: "GUARANTEED", Choices: []string{"GUARANTEED", "OPPORTUNISTIC"}, Origin: ours, Doc: "YARN's execution type of TaskExecutors' containers. Opportunistic containers use idle resources of other containers, and end when those need them. They require `yarn.resourcemanager.opportunistic-container-allocation.enabled`."},
	{Key: ExternalResources, Origin: flink, Doc: "Resources of a TaskExecutor's container besides memory and cores: names, separated by `;`. The options `external-resource.*` describe each. `none` means none."},
	{Key: ExternalResource, Origin: flink, Doc: "For each resource in `external-resources`: `external-resource.NAME.yarn.config-key` is its type in YARN, such as `yarn.io/gpu`. `external-resource.NAME.amount` is the amount for each container, in the type's units. Without a type, nothing is requested. `.driver-factory.class` and `.param.*`, which load a class into Flink, have no effect: the program finds the devices itself."},
	{Key: YarnMasterPort, Default: "0", Origin: flink, Doc: "Ports on which the ApplicationMaster accepts TaskExecutors. 0: any port."},
	{Section: "Files", Key: YarnStagingDirectory, Origin: flink, Doc: "Directory of `.bobbin`, which has the staged files. If it is not set: the user's home directory."},
	{Key: YarnShipFiles, Origin: flink, Doc: "Files and directories for the working directory of all containers, under their own names, separated by `;`. Local ones are uploaded once into the cache. Files on HDFS stay there."},
	{Key: YarnShipArchives, Origin: flink, Doc: "Archives for all containers (.zip, .jar, .tar, .tar.gz, .tgz), separated by `;`. YARN unpacks each into a directory with the archive's name."},
	{Key: YarnProvidedLibDirs, Origin: flink, Doc: "Directories on HDFS, separated by `;`. All containers find their files in the working directory. Nodes cache the files for all users and applications (PUBLIC), so everybody must be able to read the files and all directories above. If one of the files is the same `bobbin` as the client's, the client does not upload its own."},
	{Key: YarnProvidedUsrlib, Origin: flink, Doc: "A directory on HDFS with the name `usrlib`. All containers find it under that name. The rules of `yarn.provided.lib.dirs` apply."},
	{Key: YarnDistribution, Origin: flink, Doc: "The `bobbin` for the cluster, if it is not the client's own file. It must be for Linux and of the same release. A local file is uploaded once. A file on HDFS stays there. The flag `-j` of `session start`."},
	{Key: StagingCacheSize, Default: "1g", Origin: ours, Doc: "`bobbin gc` keeps unused files of the cache up to this size, the newest first."},
	{Key: StagingMinAge, Default: "1 h", Unit: time.Second, Origin: ours, Doc: "`bobbin gc` keeps files that are younger than this, because an application that uses them may be about to be submitted."},
	{Key: YarnFileReplication, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "Replication of staged files. -1 leaves it to HDFS."},
	{Section: "Access and logs in YARN", Key: YarnViewACLs, Origin: flink, Doc: "Other users who may look at the application, its logs and its page: `users groups`, each separated by commas, or `*` for everybody. YARN checks them if `yarn.acl.enable` is set. Groups count only where YARN decides. The ApplicationMaster's REST compares user names."},
	{Key: YarnModifyACLs, Origin: flink, Doc: "Other users who may stop the application and cancel its jobs, in the form of `yarn.view.acls`. Groups can stop it through YARN. Users can also cancel jobs. Users whom a session's option names, but not `*`, may also run programs there, as the session's owner and with all of the owner's rights."},
	{Key: YarnRolledLogsInclude, Origin: flink, Doc: "Regular expression (Java's) for names of log files that YARN collects while the application runs, and not only at its end."},
	{Key: YarnRolledLogsExclude, Origin: flink, Doc: "Regular expression for names among those that YARN collects only at the end."},
	{Section: "Heartbeats to YARN, and environments", Key: YarnHeartbeatInterval, Default: "5 s", Range: Range{Above: "0"}, Unit: time.Second, Origin: flink, Doc: "Time between the ApplicationMaster's heartbeats to YARN while it asks for no containers."},
	{Key: YarnContainerRequestInterval, Default: "100 ms", Range: Range{Above: "0"}, Origin: flink + ": 500 ms", Doc: "Time between the ApplicationMaster's heartbeats to YARN while it asks for containers."},
	{Key: ContainerMasterEnv, Origin: flink, Doc: "Environment variables of the ApplicationMaster."},
	{Key: ContainerWorkerEnv, Origin: flink, Doc: "Environment variables of TaskExecutors and task hosts."},
	{Key: HadoopOptions, Origin: flink, Doc: "Hadoop properties. They override those of `HADOOP_CONF_DIR`."},
	{Key: YarnOptions, Origin: flink, Doc: "YARN properties, named without their `yarn.`. They override those of `HADOOP_CONF_DIR`."},

	{Section: "ApplicationMaster and REST", Key: JobManagerProcessSize, Default: "512m", Origin: flink + ": 1600m", Doc: "Memory of the ApplicationMaster's container. The flag `-jm`. It limits the jobs of a session and their collected results. [Memory](memory.md) shows how it is divided."},
	{Key: JobManagerFlinkSize, Origin: flink, Doc: "Heap and off-heap memory of the ApplicationMaster. If it is set and `jobmanager.memory.process.size` is not, the container has this size plus the overhead."},
	{Key: JobManagerHeapSize, Origin: flink, Doc: "Memory of the ApplicationMaster's own process (its `GOMEMLIMIT`). If it is not set: the memory that the other parts leave."},
	{Key: JobManagerOffHeapSize, Origin: flink + ": 128m", Doc: "Memory for users' programs, which run beside the ApplicationMaster as child processes. If it is not set: 3/8 of heap and off-heap memory in a session and in application mode, else 0."},
	{Key: JobManagerOverheadFraction, Default: "0.2", Range: Range{Least: "0", Below: "1"}, Origin: flink + ": 0.1", Doc: "Part of the ApplicationMaster's container for its program text and stacks, and for the kernel."},
	{Key: JobManagerOverheadMin, Origin: flink + ": 192m", Doc: "Least size of that part."},
	{Key: JobManagerOverheadMax, Origin: flink + ": 1g", Doc: "Largest size of that part. Not set: no limit."},
	{Key: RESTBindPort, Default: "0", Origin: flink + ": 8081", Doc: "Ports of the REST endpoint. 0: any port."},
	{Key: PrometheusPort, Origin: flink + ": 9249", Doc: "Ports on which each TaskExecutor shows its metrics to Prometheus, for example `9250-9260`. 0: any port. If it is not set, TaskExecutors open no port, and the ApplicationMaster shows what their heartbeats bring. [Monitoring](monitoring.md)."},
	{Key: RESTMaxContentLength, Default: "100m", Range: Range{Above: "0"}, Origin: flink, Doc: "Largest body of a REST request, except for programs; mainly for submitted jobs. The ApplicationMaster's memory also limits it."},
	{Key: RESTMaxProgramSize, Default: "1g", Range: Range{Above: "0"}, Origin: ours, Doc: "Largest program or cached file that can be uploaded to a session."},
	{Key: RESTAsyncStoreDuration, Default: "5 min", Origin: flink, Doc: "How long the REST endpoint keeps the result of an asynchronous operation."},
	{Key: RESTProfiling, Default: "false", Origin: flink, Doc: "Whether users who may change the cluster can take profiles of its processes over REST: of the ApplicationMaster, of workers and of task hosts."},
	{Key: RESTProfilingMax, Default: "5 min", Range: Range{Least: "1 s"}, Origin: flink, Doc: "Longest time that a profile may take."},
	{Key: RESTProfilingHistory, Default: "10", Range: Range{Least: "1", Most: "100"}, Origin: flink, Doc: "Number of profiles that each process keeps. It drops the oldest first."},
	{Key: RESTFlames, Default: "false", Origin: flink, Doc: "Whether users who may change the cluster can see flame graphs of the tasks of a job. While somebody looks at one, the task hosts of the job are sampled for 5 s of each `rest.flamegraph.refresh-interval`."},
	{Key: RESTFlamesRefresh, Default: "1 min", Range: Range{Least: "5 s"}, Origin: flink, Doc: "Age from which a flame graph is made anew when somebody asks for it: of tasks, and of a process with `rest.profiling.enabled`."},
	{Key: RESTAccessFile, Origin: ours, Doc: "Access file on this machine for a running cluster, from `bobbin session access`. With it, commands need no YARN. They use its cluster unless they name another. `-m` overrides the REST address in the file."},
	{Key: RESTProxyChanges, Default: "false", Origin: ours, Doc: "Whether users may change something through YARN's web proxy, if the proxy knows them by Kerberos and the ACLs name them. To a browser, the pages of all applications behind the proxy are one site. So each of these pages can then do what the user who looks at it may do."},
	{Key: RESTKeytab, Origin: ours, Doc: "Path, on the nodes, of a keytab for HTTP. With it the REST endpoint accepts users' tickets (SPNEGO): they may look, and make changes that ACLs allow. If it is not set, REST accepts no tickets. The file must belong to the user that containers run as, and nobody else may read it (0400)."},
	{Key: RESTPrincipal, Default: "HTTP/_HOST", Origin: ours, Doc: "Principal whose key is taken from `rest.spnego.keytab`. `_HOST` stands for the node's name."},
	{Key: JobStoreExpirationTime, Default: "1 h", Unit: time.Second, Origin: flink, Doc: "How long a session keeps an ended job and its collected results, unless it needs the room earlier."},
	{Key: JobStoreMaxCapacity, Default: "10000", Range: Range{Least: "1"}, Origin: flink + ": unlimited", Doc: "Most ended jobs that a session keeps. It drops the oldest first."},
	{Key: JobStoreCacheSize, Default: "50m", Origin: flink, Doc: "Most memory for ended jobs and their collected results, at most half of the ApplicationMaster's memory for jobs. The session drops the oldest first, also when other jobs need the room. Jobs whose clients may be reading go last."},
	{Key: ServicesShutdownTimeout, Default: "30 s", Origin: flink, Doc: "Time for the parts of an ending cluster to end."},
	{Key: LoggingLevel, Default: "info", Choices: []string{"debug", "info", "warn", "error"}, Origin: ours, Doc: "Least severe level of events that are logged."},
	{Key: SSLInternalEnabled, Default: "true", Origin: flink + ": false", Doc: "Whether task hosts encrypt the records that they exchange, and check each other's certificates. Without it, checksums (CRC-32C) show that a fault has changed records on the network, and nothing shows that somebody has. Between roles this is always on."},
	{Key: RESTCertificate, Origin: ours, Doc: "File on this machine with a certificate of your site for the ApplicationMaster's page and REST, followed by those of its issuers, as PEM. Needs `security.ssl.rest.key`. Browsers and other clients get it if it covers the name of the node. If it is not set, or has ended, they get a certificate of the application's own authority. Flink has keystores of Java here. [Security of REST](security-rest.md#a-certificate-of-your-site)."},
	{Key: RESTCertificateKey, Origin: ours, Doc: "File on this machine with the key of that certificate, as PEM, without a password. The client sends both to the ApplicationMaster, where the owner of the application can read them."},

	{Section: "History of jobs", Key: ArchiveDir, Origin: flink, Doc: "Directory for what remains of jobs, which history servers show, Flink's and `bobbin history-server`: one file for each job when it has ended, and each minute the state of jobs that run. The owner of the application must be able to write there. If it is not set, nothing is archived. [History](history.md)."},
	{Key: HistoryAddress, Origin: flink, Doc: "Host name of the history server. If it is set, YARN's link to an application that has ended leads there, and `bobbin history-server` listens there. If it is not set, the server listens on 127.0.0.1, because it does not ask who looks."},
	{Key: HistoryPort, Default: "8082", Range: Range{Least: "1", Most: "65535"}, Origin: flink, Doc: "Port of the history server."},
	{Key: HistorySSL, Default: "false", Origin: flink, Doc: "Whether the history server uses TLS (https)."},
	{Key: HistoryCertificate, Origin: ours, Doc: "File with the certificate of `bobbin history-server`, and those of its issuers, as PEM. If it is not set: `security.ssl.rest.certificate`, with `security.ssl.rest.key`."},
	{Key: HistoryKey, Origin: ours, Doc: "File with the key of `historyserver.web.ssl.certificate`, as PEM."},
	{Key: HistoryWebRefresh, Default: "10 s", Range: Range{Above: "0"}, Origin: flink, Doc: "How often pages of the history server ask again."},
	{Key: HistoryTempDir, Origin: flink, Doc: "Folder in which the history server makes its local folder. If it is not set: the system's folder for temporary files."},
	{Key: HistoryDirs, Origin: flink, Doc: "Directories with the archives that the history server shows, separated by commas."},
	{Key: HistoryRefresh, Default: "10 s", Range: Range{Above: "0"}, Origin: flink, Doc: "How often the history server lists the directories."},
	{Key: HistoryCleanExpired, Default: "false", Origin: flink, Doc: "Whether the history server drops jobs whose archives are not in the directories any more."},
	{Key: HistoryRetained, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "Most archives of ended jobs in each directory: the history server removes the oldest ones there. -1: all stay."},
	{Key: HistoryMasterLog, Origin: flink, Doc: "URL of the ApplicationMaster's logs of an archived job. `<jobid>` stands for the job."},
	{Key: HistoryWorkerLog, Origin: flink, Doc: "URL of a worker's logs of an archived job. `<jobid>` stands for the job, `<tmid>` for the worker, which is its container. If it is not set: the logs that `yarn.log.server.web-service.url` of the Hadoop configuration has."},

	{Section: "Kerberos", Key: KerberosKeytab, Origin: flink, Doc: "Keytab for the login, instead of kinit's ticket. The client also sends it to the ApplicationMaster, which gets new tokens with it. A job that runs for more than a few days needs it."},
	{Key: KerberosPrincipal, Origin: flink, Doc: "Principal whose key is taken from the keytab: `name@REALM` or `name`."},
	{Key: KerberosUseTicketCache, Default: "true", Origin: flink, Doc: "Whether kinit's ticket may be used if no keytab is set."},
	{Key: Krb5ConfPath, Origin: flink, Doc: "The krb5.conf of the client and the ApplicationMaster, instead of `KRB5_CONFIG` and the system's file."},
	{Key: KerberosFileSystems, Origin: flink, Doc: "Further file systems that the job needs tokens for: URIs, separated by `;` or `,`. Bobbin knows the file systems of the inputs, the outputs and the staging directory."},
	{Key: YarnShipLocalKeytab, Default: "true", Origin: flink, Doc: "Whether the client sends the keytab to the ApplicationMaster. If not, the keytab must be on the nodes at `yarn.security.kerberos.localized-keytab-path`."},
	{Key: YarnLocalizedKeytabPath, Default: "krb5.keytab", Origin: flink, Doc: "Name of the keytab in the ApplicationMaster's container. If the client does not send the keytab: its path on the nodes."},
	{Key: YarnTokenServices, Default: TokensOfHDFS, Origin: flink, Doc: "Services for which the client gets delegation tokens, separated by `;`. The only one is `hadoopfs`, for HDFS. Without it, the ApplicationMaster gets tokens only with its keytab."},
	{Key: ProxyUser, Origin: ours, Doc: "User to act for, as far as the servers' `hadoop.proxyuser.*` allow. The flag `--proxy-user`. If it is not set: `HADOOP_PROXY_USER`. Files and the application belong to that user, and the client sends no keytab."},
	{Key: DelegationTokensEnabled, Default: "true", Origin: flink, Doc: "Whether the client gets delegation tokens for the job."},
	{Key: HadoopFSProviderEnabled, Default: "true", Origin: flink, Doc: "Whether the client gets delegation tokens for HDFS."},
	{Key: DelegationTokensRenewalRatio, Default: "0.75", Range: Range{Above: "0", Below: "1"}, Origin: flink, Doc: "Part of the tokens' life after which the ApplicationMaster gets new ones with the keytab."},
	{Key: DelegationTokensRetryBackoff, Default: "1 h", Range: Range{Above: "0"}, Origin: flink, Doc: "Longest pause after a failure to get new tokens. If half of the old tokens' remaining life is shorter, the pause is that half."},

	{Section: "High availability", Key: HighAvailabilityType, Default: HighAvailabilityYARN, Choices: []string{HighAvailabilityYARN, HighAvailabilityNone}, Also: []string{"standalone=" + HighAvailabilityNone}, Refused: []string{"zookeeper=is not supported yet", "kubernetes=is only for Kubernetes"}, Origin: flink + ": NONE", Doc: "What happens when YARN replaces the ApplicationMaster. `yarn`: jobs and results are on HDFS; the next ApplicationMaster has them, and the workers stay. `NONE`: its jobs are lost. [High availability](high-availability.md)."},
	{Key: HighAvailabilityStorageDir, Origin: flink, Doc: "Directory, on HDFS, for the jobs and results of applications. Each application has a directory there. If it is not set: the application's directory with the staged files."},
	{Key: HighAvailabilityClusterID, Origin: flink, Doc: "Name for a cluster's high-availability data. The flag `-z`. It has no effect: the id of the application names the data."},

	{Section: "Heartbeats and registration", Key: HeartbeatInterval, Default: "10 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Time between the heartbeats of roles."},
	{Key: HeartbeatTimeout, Default: "50 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A role that is silent for this time counts as lost, even if its machine answers. A closed connection is noticed at once."},
	{Key: HeartbeatFailureThreshold, Default: "2", Range: Range{Least: "-1"}, Origin: flink, Doc: "A machine that acknowledges no data for this many heartbeat intervals counts as lost. With -1 only `heartbeat.timeout` counts."},
	{Key: RegistrationInitialTimeout, Default: "100 ms", Range: Range{Above: "0"}, Origin: flink, Doc: "First pause between attempts to register with a role. It doubles each time."},
	{Key: RegistrationMaxTimeout, Default: "30 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Longest pause between attempts to register with a role."},

	{Section: "Workers and slots", Key: WorkerIdleTimeout, Default: "30 s", Range: Range{Least: "0"}, Origin: flink, Doc: "A TaskExecutor that is idle for this time is released."},
	{Key: WorkerRegistrationTimeout, Default: "5 min", Range: Range{Above: "0"}, Origin: flink, Doc: "A container whose TaskExecutor does not register within this time is released."},
	{Key: PreviousWorkerRecovery, Default: "3 s", Range: Range{Least: "0"}, Origin: flink + ": 0 s", Doc: "After an ApplicationMaster has replaced another one, it requests no TaskExecutors for this time while some of the running ones have not returned. Bobbin's return within about a second and keep their slots, so that new containers would mostly be useless. With 500 TaskExecutors the time is 1.5 s longer, with 1,000 it is 3 s longer, and so on."},
	{Key: StartWorkerMaxFailureRate, Default: "10", Range: Range{Above: "0"}, Origin: flink, Doc: "If more starts of TaskExecutors than this fail in a minute, starts pause."},
	{Key: StartWorkerRetryInterval, Default: "3 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Length of the pause after too many failed starts."},
	{Key: SlotsMin, Default: "0", Range: Range{Least: "0"}, Origin: flink, Doc: "Least slots of the cluster, from its start to its end, also without a job and in a cluster for one job. Bobbin requests and keeps as many TaskExecutors as have these slots."},
	{Key: SlotsMax, Default: unlimited, Range: Range{Least: "1"}, Origin: flink, Doc: "Most slots of the cluster, with those of TaskExecutors that are starting."},
	{Key: MinTotalCPU, Default: "0", Range: Range{Least: "0"}, Origin: flink + ": none", Doc: "Least cores of all TaskExecutors together, as `slotmanager.number-of-slots.min`."},
	{Key: MaxTotalCPU, Default: unlimited, Range: Range{Above: "0"}, Origin: flink + ": none", Doc: "Most cores of all TaskExecutors together, at least those of one."},
	{Key: MinTotalMemory, Default: "0b", Range: Range{Least: "0b"}, Origin: flink + ": none", Doc: "Least memory of all TaskExecutors together, as `slotmanager.number-of-slots.min`."},
	{Key: MaxTotalMemory, Default: unlimitedMemory, Range: Range{Above: "0b"}, Origin: flink + ": none", Doc: "Most memory of all TaskExecutors together."},
	{Key: RedundantWorkers, Default: "0", Range: Range{Least: "0"}, Origin: flink, Doc: "While a job with default slots runs, the cluster has the slots of this number of TaskExecutors free, to replace lost TaskExecutors at once. Slot sharing groups with resources of their own have no spare slots. The limits above go first."},
	{Key: SlotRequestTimeout, Default: "5 min", Range: Range{Above: "0"}, Origin: flink, Doc: "If no part of a job gets its slots within this time, the waiting tasks fail, and the restart strategy decides. Flink uses this time for streaming and batch requests. A job of Bobbin waits as batch requests do, while another part of it runs."},
	{Key: PreviousWorkerTimeout, Default: "30 s", Range: Range{Least: "0"}, Origin: flink, Doc: "How long a job waits for the workers of an ApplicationMaster that is lost. They still have blocking partitions, whose producers then need not run again. Only jobs with blocking exchanges wait, and only as long as partitions are missing and a worker of which YARN knows has not said what it has."},
	{Key: SlotIdleTimeout, Default: "50 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A job returns a slot that it does not use for this time."},

	{Section: "Slow tasks", Key: SpeculativeEnabled, Default: "false", Origin: flink, Doc: "Whether a slow task gets further attempts on other nodes, which run at the same time. The first one to finish counts, and the others are cancelled: see [slow tasks](failures.md#slow-tasks). With `execution.batch-shuffle-mode` AUTOMATIC, all exchanges are then blocking. An option of the job."},
	{Key: SpeculativeAttempts, Default: "2", Range: Range{Least: "1", Most: "16"}, Origin: flink, Doc: "Most attempts of a task that run at the same time, with the first one."},
	{Key: SpeculativeBlockTime, Default: "1 min", Range: Range{Above: "0"}, Origin: flink, Doc: "How long the job gives no tasks to a node after a task there was found slow."},
	{Key: SlowTaskInterval, Default: "1 s", Range: Range{Least: "10 ms"}, Origin: flink, Doc: "Time between looks for slow tasks."},
	{Key: SlowTaskLowerBound, Default: "1 min", Range: Range{Least: "0"}, Origin: flink, Doc: "A task that has run for less time is not slow."},
	{Key: SlowTaskMultiplier, Default: "1.5", Range: Range{Above: "0"}, Origin: flink, Doc: "A task is slow if it has run for this multiple of the median of the tasks of its vertex that have finished. If it has read more than their median, it has more time in proportion."},
	{Key: SlowTaskRatio, Default: "0.75", Range: Range{Least: "0", Most: "1"}, Origin: flink, Doc: "The part of the tasks of a vertex that must have finished before others are slow."},

	{Section: "Restarts", Key: FailoverStrategy, Default: "region", Choices: []string{"region", "full"}, Origin: flink, Doc: "What restarts after a failure: the region of the failed task, or all tasks of the job (`full`), also those that have finished."},
	{Key: RestartStrategy, Default: "fixed-delay", Choices: []string{"none", "fixed-delay", "failure-rate", "exponential-delay"}, Also: []string{"off=none", "disable=none", "fixeddelay=fixed-delay", "failurerate=failure-rate", "exponentialdelay=exponential-delay"}, Origin: flink + ": none without checkpoints", Doc: "Strategy for restarts after a task has failed."},
	{Key: FixedDelayAttempts, Default: "3", Range: Range{Least: "0"}, Origin: flink + ": 1", Doc: "Restarts before the job fails."},
	{Key: FixedDelayDelay, Default: "1 s", Origin: flink, Doc: "Pause before a restart. The first restart of a region comes at once; with `full` that is the first restart of the job."},
	{Key: FailureRateMaxFailures, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Failures in an interval before the job fails."},
	{Key: FailureRateInterval, Default: "1 min", Range: Range{Above: "0"}, Origin: flink, Doc: "Interval in which failures count."},
	{Key: FailureRateDelay, Default: "1 s", Origin: flink, Doc: "Pause before a restart."},
	{Key: ExponentialInitialBackoff, Default: "1 s", Range: Range{Above: "0"}, Origin: flink, Doc: "First pause before a restart."},
	{Key: ExponentialMaxBackoff, Default: "1 min", Origin: flink, Doc: "Longest pause before a restart."},
	{Key: ExponentialMultiplier, Default: "1.5", Range: Range{Least: "1"}, Origin: flink, Doc: "Factor from one pause to the next."},
	{Key: ExponentialResetThreshold, Default: "1 h", Origin: flink, Doc: "After this time without a failure, the pause is the first one again."},
	{Key: ExponentialJitter, Default: "0.1", Range: Range{Least: "0", Most: "1"}, Origin: flink, Doc: "Part of the pause by which it varies at random."},
	{Key: ExponentialMaxAttempts, Default: unlimited, Range: Range{Least: "0"}, Origin: flink, Doc: "Restarts before the job fails."},
	{Key: ExceptionHistorySize, Default: "16", Range: Range{Least: "1"}, Origin: flink, Doc: "Root causes of failures that a job shows, the newest ones. All of them together take 48 KiB at most. If their texts are longer, only the newest one has all of its text, and the oldest ones are dropped."},
	{Key: AttemptsHistorySize, Default: "16", Range: Range{Least: "0", Most: "32"}, Origin: flink, Doc: "Earlier attempts of each task that a job shows, the newest ones. All tasks of a job together keep 4096 at most. If a job has more tasks, each keeps its last one."},

	{Section: "Memory of TaskExecutors", Key: TaskManagerProcessSize, Default: "1g", Origin: flink + ": 1728m", Doc: "Memory of a TaskExecutor's container, with its task hosts. The flag `-tm`. [Memory](memory.md) shows how it is divided."},
	{Key: TaskManagerFlinkSize, Origin: flink, Doc: "Memory of a container without the overhead. If it is set and `taskmanager.memory.process.size` is not, the container has this size plus the overhead."},
	{Key: TaskManagerFrameworkHeapSize, Default: "32m", Range: Range{Least: "32m"}, Origin: flink + ": 128m", Doc: "Memory of the TaskExecutor's own process (its `GOMEMLIMIT`)."},
	{Key: TaskManagerTaskHeapSize, Origin: flink, Doc: "Memory for the objects of tasks, of all slots together. If it is not set: the memory that the other parts leave. If this and `taskmanager.memory.managed.size` are set, and no total is, the container has the sum of all parts."},
	{Key: TaskManagerTaskOffHeapSize, Default: "0b", Origin: flink, Doc: "Memory for tasks that Go does not manage, of all slots together: cgo, mapped files, child processes. It is part of the container, and of no `GOMEMLIMIT`."},
	{Key: TaskManagerManagedSize, Origin: flink, Doc: "Memory for tables and buffers of operators, of all slots together. If it is not set, the fraction applies."},
	{Key: TaskManagerManagedFraction, Default: "0.4", Range: Range{Least: "0", Most: "1"}, Origin: flink, Doc: "Part of the memory without overhead for tables and buffers of operators."},
	{Key: TaskManagerNetworkFraction, Default: "0.1", Range: Range{Least: "0", Below: "1"}, Origin: flink, Doc: "Part of the memory without overhead for buffers between tasks. If `taskmanager.memory.task.heap.size` is set, buffers get the memory that the other parts leave."},
	{Key: TaskManagerNetworkMin, Default: "8m", Range: Range{Above: "0"}, Origin: flink + ": 64m", Doc: "Least memory of a TaskExecutor for buffers between tasks."},
	{Key: TaskManagerNetworkMax, Origin: flink, Doc: "Most memory of a TaskExecutor for buffers between tasks. Not set: no limit."},
	{Key: TaskManagerOverheadFraction, Default: "0.05", Range: Range{Least: "0", Below: "1"}, Origin: flink + ": 0.1", Doc: "Part of the container that no process gets. The overhead is this part, and 32 MB of program text and stacks for the TaskExecutor and for each slot."},
	{Key: TaskManagerOverheadMin, Origin: flink + ": 192m", Doc: "Least size of the overhead."},
	{Key: TaskManagerOverheadMax, Origin: flink + ": 1g", Doc: "Largest size of the overhead. Not set: no limit."},

	{Section: "TaskExecutors and tasks", Key: TaskManagerCores, Default: "0", Range: Range{Least: "0"}, Origin: flink + ": none", Doc: "Cores of a TaskExecutor, rounded up. 0: `yarn.containers.vcores` applies."},
	{Key: TaskSlots, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Slots of a TaskExecutor. The flag `-s`. In a local run without this option, the TaskExecutors have as many slots together as the job needs."},
	{Key: LocalTaskManagers, Default: "1", Range: Range{Least: "1", Most: "1000"}, Origin: flink, Doc: "Most TaskExecutors of a local run. They start when the job needs their slots. If `taskmanager.numberOfTaskSlots` is not set, the job's slots are divided among them."},
	{Key: LoadBalanceMode, Default: BalanceNone, Choices: []string{BalanceNone, BalanceSlots, BalanceTasks}, Origin: flink, Doc: "How slots are chosen. `NONE`: TaskExecutors with used slots come first, so that unused ones can be released. `SLOTS`: the TaskExecutor with the smallest part of its slots in use comes first. `TASKS`: as `SLOTS`, and a job puts the slots with most of its tasks on the TaskExecutors with the fewest."},
	{Key: EvenlySpreadOutSlots, Default: "false", Origin: flink, Doc: "Deprecated. `true` means `taskmanager.load-balance.mode: SLOTS`, if that option is not set."},
	{Key: TaskManagerSlotTimeout, Default: "10 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A slot that its job does not take within this time is free again."},
	{Key: TaskManagerRegistrationTimeout, Default: "5 min", Range: Range{Above: "0"}, Origin: flink, Doc: "A TaskExecutor that cannot register for this time ends itself."},
	{Key: FetchRetries, Default: "1", Range: Range{Least: "0"}, Origin: flink + ": 5", Doc: "How often a TaskExecutor repeats a failed fetch of a program or a cached file, before the job sets the node aside. Within each fetch, calls to HDFS are repeated for 3 min."},
	{Key: TaskCancellationInterval, Default: "30 s", Range: Range{Above: "0"}, Origin: flink, Doc: "How often the log shows where a cancelled task still runs. Flink also interrupts its thread; a goroutine cannot be interrupted."},
	{Key: TaskCancellationTimeout, Default: "30 s", Range: Range{Least: "0"}, Origin: flink + ": 180 s", Doc: "If a cancelled task does not end within this time, its task host ends, with all tasks of the job on this worker. 0: it may run for ever. Flink waits longer because it must then end the whole TaskExecutor; here the TaskExecutor and other jobs continue."},
}
