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

	JobManagerProcessSize   MemoryKey   = "jobmanager.memory.process.size"
	RESTBindPort            PortsKey    = "rest.bind-port"
	RESTMaxContentLength    MemoryKey   = "rest.server.max-content-length"
	RESTMaxProgramSize      MemoryKey   = "rest.programs.max-size"
	RESTAsyncStoreDuration  DurationKey = "rest.async.store-duration"
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

	HighAvailabilityClusterID StringKey = "high-availability.cluster-id"

	HeartbeatInterval          DurationKey = "heartbeat.interval"
	HeartbeatTimeout           DurationKey = "heartbeat.timeout"
	HeartbeatFailureThreshold  IntKey      = "heartbeat.rpc-failure-threshold"
	RegistrationInitialTimeout DurationKey = "cluster.registration.initial-timeout"
	RegistrationMaxTimeout     DurationKey = "cluster.registration.max-timeout"

	WorkerIdleTimeout         DurationKey = "resourcemanager.taskmanager-timeout"
	WorkerRegistrationTimeout DurationKey = "resourcemanager.taskmanager-registration.timeout"
	StartWorkerMaxFailureRate FractionKey = "resourcemanager.start-worker.max-failure-rate"
	StartWorkerRetryInterval  DurationKey = "resourcemanager.start-worker.retry-interval"
	SlotsMax                  IntKey      = "slotmanager.number-of-slots.max"
	SlotRequestTimeout        DurationKey = "slot.request.timeout"
	SlotIdleTimeout           DurationKey = "slot.idle.timeout"

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
	TaskManagerManagedFraction     FractionKey = "taskmanager.memory.managed.fraction"
	TaskManagerNetworkFraction     FractionKey = "taskmanager.memory.network.fraction"
	TaskManagerNetworkMin          MemoryKey   = "taskmanager.memory.network.min"
	TaskManagerNetworkMax          MemoryKey   = "taskmanager.memory.network.max"
	TaskManagerCores               FractionKey = "taskmanager.cpu.cores"
	TaskSlots                      IntKey      = "taskmanager.numberOfTaskSlots"
	TaskManagerSlotTimeout         DurationKey = "taskmanager.slot.timeout"
	TaskManagerRegistrationTimeout DurationKey = "taskmanager.registration.timeout"
	TaskCancellationTimeout        DurationKey = "task.cancellation.timeout"
)

// Origins.
const (
	flink = "Flink"
	ours  = "Bobbin"
)

// TokensOfHDFS names HDFS in YarnTokenServices.
const TokensOfHDFS = "hadoopfs"

const unlimited = "2147483647" // Integer.MAX_VALUE, Flink's "no limit"

// table is every option, in the order of the reference.
var table = []Definition{ //nolint:gochecknoglobals // a constant table
	{Key: ExecutionTarget, Default: "local", Choices: []string{"local", "remote", "yarn-per-job", "yarn-session", "yarn-application"}, Origin: flink + ": none", Doc: "Where `bobbin run` runs a program; the flag `-t`. Where nothing is given but a session is, by a flag, an option or the file of properties, it is `yarn-session`; with `rest.access-file` it is `remote`."},
	{Key: ExecutionAttached, Default: "true", Origin: flink + ": set by its CLI", Doc: "Whether `bobbin run` follows the job to its end; `-d` sets it to false."},
	{Key: ClientTimeout, Default: "30 s", Range: Range{Above: "0"}, Origin: flink + ": 60 s", Doc: "How long client and planner try a server of the cluster that does not answer: ResourceManager (unless `yarn.resourcemanager.connect.max-wait.ms` is configured), NameNode, ApplicationMaster. An ApplicationMaster that has answered before is waited for, or its successor, until YARN ends the application. `bobbin doctor` gives each server a third of it."},
	{Key: ClientHeartbeatInterval, Default: "30 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Time between signs of life of a client whose job ends with it."},
	{Key: ClientHeartbeatTimeout, Default: "180 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A job that ends with its client is cancelled when that is not heard of for so long. Of any other, what it has collected is dropped when nobody comes for it for so long and it cannot go on for that."},
	{Key: ShutdownOnAttachedExit, Default: "false", Origin: flink, Doc: "Whether a job that is followed ends with its client, however that ends; the flag `-sae`."},
	{Key: ShutdownOnFinish, Default: "true", Origin: flink, Doc: "Whether the cluster of `run-application` ends with its program and the jobs of that. If not, it stays until it is shut down."},
	{Key: ParallelismDefault, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Parallelism of operators that set none; the flag `-p`."},
	{Key: BufferTimeout, Default: "100 ms", Range: Range{Least: "1 ms"}, Origin: flink, Doc: "After this time a buffer is sent though it is not full."},

	{Key: YarnApplicationID, Origin: flink, Doc: "The application that a command means, such as `list` and `cancel`, and the session of `run -t yarn-session`; the flag `-id`. Where none is given, the file of properties tells which session was started last."},
	{Key: YarnPropertiesFileLocation, Origin: flink, Doc: "Directory of the file in which `session start` writes down its session for later commands, `.bobbin-yarn-properties-USER`; that for temporary files where none is given."},
	{Key: YarnApplicationName, Origin: flink, Doc: "The application's name in YARN; the job's where none is given. The flag `-nm`."},
	{Key: YarnApplicationType, Default: "Bobbin", Origin: flink + ": none", Doc: "The application's type in YARN."},
	{Key: YarnApplicationQueue, Origin: flink, Doc: "The queue; YARN's default where none is given. The flag `-qu`."},
	{Key: YarnApplicationPriority, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "The application's priority; -1 leaves it to YARN, whose `yarn.cluster.max-application-priority` bounds it."},
	{Key: YarnTags, Origin: flink, Doc: "Tags of the application, separated by commas."},
	{Key: YarnApplicationAttempts, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "How often YARN starts the ApplicationMaster; YARN has a limit of its own. A second one begins the job anew."},
	{Key: YarnAttemptFailuresValidity, Default: "-1", Range: Range{Least: "-1"}, Origin: flink + ": 10000", Doc: "Failures of the ApplicationMaster longer ago than so many milliseconds do not count as one of its attempts; -1 counts all of them, which ends one that dies again and again."},
	{Key: YarnApplicationLifetime, Default: "0", Unit: time.Second, Origin: ours, Doc: "YARN kills the application when it is so old; 0: never, unless its queue has a limit."},
	{Key: YarnNodeLabel, Origin: flink, Doc: "Label of the nodes for the ApplicationMaster, and for TaskExecutors where `yarn.taskmanager.node-label` names no other. The flag `-nl`."},
	{Key: YarnWorkerNodeLabel, Origin: flink, Doc: "Label of the nodes for TaskExecutors."},
	{Key: YarnAppMasterVCores, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Virtual cores of the ApplicationMaster's container."},
	{Key: YarnContainersVCores, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "Virtual cores of a TaskExecutor's container; -1 means one for each slot. `taskmanager.cpu.cores` counts more."},
	{Key: YarnWorkerPlacement, Origin: ours, Doc: "Where TaskExecutors may be, as a placement constraint of YARN's on containers tagged `taskmanager`, such as `notin,node,taskmanager` for one on each node. YARN's `yarn.resourcemanager.placement-constraints.handler` has to be `scheduler`."},
	{Key: YarnWorkerExecution, Default: "GUARANTEED", Choices: []string{"GUARANTEED", "OPPORTUNISTIC"}, Origin: ours, Doc: "Execution type of TaskExecutors' containers in YARN. Opportunistic containers use resources that other containers leave idle, and make way for those; YARN gives them where `yarn.resourcemanager.opportunistic-container-allocation.enabled` is set."},
	{Key: ExternalResources, Origin: flink, Doc: "Resources that a TaskExecutor's container has beside memory and cores: names, separated by `;`. The options `external-resource.*` say more of each. `none` is none."},
	{Key: ExternalResource, Origin: flink, Doc: "Of a resource in that list: `external-resource.NAME.yarn.config-key` is its type in YARN, such as `yarn.io/gpu`, and `external-resource.NAME.amount` how much of it each container has, in the type's units. Without a type nothing is asked for. `.driver-factory.class` and `.param.*`, which load a class into Flink, do nothing: the program finds the devices itself."},
	{Key: YarnStagingDirectory, Origin: flink, Doc: "Where `.bobbin` is made for staged files; the user's home directory where none is given."},
	{Key: YarnShipFiles, Origin: flink, Doc: "Files and directories, separated by `;`, that all containers find by their names in the working directory. Local ones are uploaded once by content, into the cache; those on HDFS stay where they are."},
	{Key: YarnShipArchives, Origin: flink, Doc: "Archives likewise (.zip, .jar, .tar, .tar.gz, .tgz), which are directories of their names in the containers, unpacked by YARN."},
	{Key: YarnProvidedLibDirs, Origin: flink, Doc: "Directories on HDFS, separated by `;`, whose files all containers find in the working directory. YARN keeps them on its nodes for all users and applications (PUBLIC): they and the directories above must be readable by everybody. A `bobbin` among them that is the same as the client's is not uploaded."},
	{Key: YarnProvidedUsrlib, Origin: flink, Doc: "A directory likewise, called `usrlib`, which all containers find under that name."},
	{Key: YarnDistribution, Origin: flink, Doc: "The `bobbin` that the cluster runs, where that is not the client's own file: for Linux, and of the same release. A file of this machine is uploaded once; one on HDFS stays where it is. The flag `-j` of `session start`."},
	{Key: StagingCacheSize, Default: "1g", Origin: ours, Doc: "Size of the newest files of the cache that `bobbin gc` leaves although no application uses them."},
	{Key: StagingMinAge, Default: "1 h", Unit: time.Second, Origin: ours, Doc: "`bobbin gc` leaves files that are younger: an application that uses them may be about to be submitted."},
	{Key: YarnFileReplication, Default: "-1", Range: Range{Least: "-1"}, Origin: flink, Doc: "Replication of staged files; -1 leaves it to HDFS."},
	{Key: YarnMasterPort, Default: "0", Origin: flink, Doc: "Ports on which the ApplicationMaster takes TaskExecutors' connections; 0 is any."},
	{Key: YarnViewACLs, Origin: flink, Doc: "Other users that may look at the application, its logs and its page: `users groups`, each separated by commas, or `*` for everybody. YARN checks them if `yarn.acl.enable` is set. Groups count where YARN decides; the ApplicationMaster's REST compares names."},
	{Key: YarnModifyACLs, Origin: flink, Doc: "Other users that may end the application and cancel its jobs, in the same form. Groups may end it through YARN; users may cancel jobs, too. Users that a session's option names, but not `*`, may also run programs there: as its owner, with all of the owner's rights."},
	{Key: YarnRolledLogsInclude, Origin: flink, Doc: "Regular expression (Java's) of names of log files that YARN collects while the application runs, rather than at its end."},
	{Key: YarnRolledLogsExclude, Origin: flink, Doc: "Regular expression of names among those that YARN leaves until the end."},
	{Key: YarnHeartbeatInterval, Default: "5 s", Range: Range{Above: "0"}, Unit: time.Second, Origin: flink, Doc: "Time between heartbeats of the ApplicationMaster to YARN while nothing is asked for."},
	{Key: YarnContainerRequestInterval, Default: "100 ms", Range: Range{Above: "0"}, Origin: flink + ": 500 ms", Doc: "Time between heartbeats while containers are asked for."},
	{Key: ContainerMasterEnv, Origin: flink, Doc: "Environment variables of the ApplicationMaster."},
	{Key: ContainerWorkerEnv, Origin: flink, Doc: "Environment variables of TaskExecutors and task hosts."},
	{Key: HadoopOptions, Origin: flink, Doc: "Options for Hadoop, over those of `HADOOP_CONF_DIR`."},
	{Key: YarnOptions, Origin: flink, Doc: "Options for YARN, over those of `HADOOP_CONF_DIR`: what follows is the name without its `yarn.`."},

	{Key: JobManagerProcessSize, Default: "512m", Origin: flink + ": 1600m", Doc: "Memory of the ApplicationMaster's container; the flag `-jm`. It bounds the jobs that a session holds, and what they collect."},
	{Key: RESTBindPort, Default: "0", Origin: flink + ": 8081", Doc: "Ports of the REST endpoint; 0 is any."},
	{Key: RESTMaxContentLength, Default: "100m", Range: Range{Above: "0"}, Origin: flink, Doc: "Largest body that the REST endpoint takes, but for programs: a submitted job above all. The ApplicationMaster's memory bounds it as well."},
	{Key: RESTMaxProgramSize, Default: "1g", Range: Range{Above: "0"}, Origin: ours, Doc: "Largest program that may be uploaded to a session."},
	{Key: RESTAsyncStoreDuration, Default: "5 min", Origin: flink, Doc: "How long the REST endpoint knows how an operation ended that was triggered by another request."},
	{Key: RESTAccessFile, Origin: ours, Doc: "File of this machine by which commands come to a running cluster with no YARN: what `bobbin session access` writes where there is one. Commands mean that cluster then, unless they name another; `-m` says where its REST endpoint is, if not where the file says."},
	{Key: RESTProxyChanges, Default: "false", Origin: ours, Doc: "Whether users whom YARN's web proxy knows by Kerberos, and whom the ACLs name, may change something through it. Pages of all applications behind the proxy are one site to a browser: each of them can then do what the user may who looks at it."},
	{Key: RESTKeytab, Origin: ours, Doc: "Path on the nodes of a keytab by which the REST endpoint lets users with tickets look, and change what ACLs give them (SPNEGO); none: by other means only. The file must belong to the user that containers run as, and be readable for nobody else (0400)."},
	{Key: RESTPrincipal, Default: "HTTP/_HOST", Origin: ours, Doc: "Whose key to take of it; `_HOST` is the name of the node."},
	{Key: JobStoreExpirationTime, Default: "1 h", Unit: time.Second, Origin: flink, Doc: "How long a session knows a job that has ended, and keeps what it has collected, unless others need the room before."},
	{Key: JobStoreMaxCapacity, Default: "10000", Range: Range{Least: "1"}, Origin: flink + ": unlimited", Doc: "Most ended jobs that a session knows; the oldest go first."},
	{Key: JobStoreCacheSize, Default: "50m", Origin: flink, Doc: "Most memory for ended jobs and what they have collected, but never more than half of what the ApplicationMaster has for jobs. The oldest go first, also when others need their room, and last those whose clients may be reading."},
	{Key: ServicesShutdownTimeout, Default: "30 s", Origin: flink, Doc: "How long the parts of an ending cluster may take."},
	{Key: LoggingLevel, Default: "info", Choices: []string{"debug", "info", "warn", "error"}, Origin: ours, Doc: "Which events go to the logs."},
	{Key: SSLInternalEnabled, Default: "true", Origin: flink + ": false", Doc: "Whether records between task hosts are encrypted, and hosts know each other by certificates; between roles that is always so."},

	{Key: KerberosKeytab, Origin: flink, Doc: "Keytab to log in with, in place of the ticket that kinit got. The ApplicationMaster gets it, too, and with it new tokens: what a job needs that runs for more than a few days."},
	{Key: KerberosPrincipal, Origin: flink, Doc: "Whose key to take of the keytab, as `name@REALM` or `name`."},
	{Key: KerberosUseTicketCache, Default: "true", Origin: flink, Doc: "Whether the ticket that kinit got may be used where no keytab is named."},
	{Key: Krb5ConfPath, Origin: flink, Doc: "The krb5.conf of client and ApplicationMaster, in place of `KRB5_CONFIG` and of the system's."},
	{Key: KerberosFileSystems, Origin: flink, Doc: "Further file systems that the job needs tokens for, as URIs, separated by `;` or `,`; those of its inputs, its outputs and its staging directory are known."},
	{Key: YarnShipLocalKeytab, Default: "true", Origin: flink, Doc: "Whether the keytab is sent to the ApplicationMaster. If not, it is expected on the nodes, at `yarn.security.kerberos.localized-keytab-path`."},
	{Key: YarnLocalizedKeytabPath, Default: "krb5.keytab", Origin: flink, Doc: "Name of the keytab in the ApplicationMaster's container; its path on the nodes where it is not sent."},
	{Key: YarnTokenServices, Default: TokensOfHDFS, Origin: flink, Doc: "For what the client obtains delegation tokens, separated by `;`; there are those for HDFS, `hadoopfs`. Where that is not in the list, the ApplicationMaster gets tokens by its keytab alone."},
	{Key: ProxyUser, Origin: ours, Doc: "The user to act for, as `hadoop.proxyuser.*` of the servers allows; `HADOOP_PROXY_USER` where none is given. The flag `--proxy-user`. Files and the application are that user's, and no keytab is sent."},
	{Key: DelegationTokensEnabled, Default: "true", Origin: flink, Doc: "Whether delegation tokens are obtained for the job."},
	{Key: HadoopFSProviderEnabled, Default: "true", Origin: flink, Doc: "Whether they are obtained for HDFS."},
	{Key: DelegationTokensRenewalRatio, Default: "0.75", Range: Range{Above: "0", Below: "1"}, Origin: flink, Doc: "Part of the tokens' life after which new ones are obtained with the keytab."},
	{Key: DelegationTokensRetryBackoff, Default: "1 h", Range: Range{Above: "0"}, Origin: flink, Doc: "Longest pause after new tokens could not be obtained; half of what is left of the old ones' life where that is less."},

	{Key: HighAvailabilityClusterID, Origin: flink, Doc: "Name of a cluster's data of high availability; the flag `-z`. It has no effect until there is such data."},

	{Key: HeartbeatInterval, Default: "10 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Time between heartbeats of roles."},
	{Key: HeartbeatTimeout, Default: "50 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A role that is not heard of for so long is dead, however its machine is; a connection that is closed is noticed at once."},
	{Key: HeartbeatFailureThreshold, Default: "2", Range: Range{Least: "-1"}, Origin: flink, Doc: "Heartbeat intervals after which a machine is lost that acknowledges nothing of what is sent to it; -1 leaves it to `heartbeat.timeout`."},
	{Key: RegistrationInitialTimeout, Default: "100 ms", Range: Range{Above: "0"}, Origin: flink, Doc: "First pause between attempts to register at a role; it doubles."},
	{Key: RegistrationMaxTimeout, Default: "30 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Longest pause between attempts to register at a role."},

	{Key: WorkerIdleTimeout, Default: "30 s", Range: Range{Least: "0"}, Origin: flink, Doc: "A TaskExecutor without work for so long is released."},
	{Key: WorkerRegistrationTimeout, Default: "5 min", Range: Range{Above: "0"}, Origin: flink, Doc: "A container whose TaskExecutor does not register for so long is released."},
	{Key: StartWorkerMaxFailureRate, Default: "10", Range: Range{Above: "0"}, Origin: flink, Doc: "Failed starts of TaskExecutors a minute, beyond which starts pause."},
	{Key: StartWorkerRetryInterval, Default: "3 s", Range: Range{Above: "0"}, Origin: flink, Doc: "Length of that pause."},
	{Key: SlotsMax, Default: unlimited, Range: Range{Least: "1"}, Origin: flink, Doc: "Most slots of the cluster."},
	{Key: SlotRequestTimeout, Default: "5 min", Range: Range{Above: "0"}, Origin: flink, Doc: "A job that does not get its slots for so long fails."},
	{Key: SlotIdleTimeout, Default: "50 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A slot that a job holds without using it for so long is given back."},

	{Key: RestartStrategy, Default: "fixed-delay", Choices: []string{"none", "fixed-delay", "failure-rate", "exponential-delay"}, Also: []string{"off=none", "disable=none", "fixeddelay=fixed-delay", "failurerate=failure-rate", "exponentialdelay=exponential-delay"}, Origin: flink + ": none without checkpoints", Doc: "The plan for restarts after a task has failed."},
	{Key: FixedDelayAttempts, Default: "3", Range: Range{Least: "0"}, Origin: flink + ": 1", Doc: "Restarts before the job fails."},
	{Key: FixedDelayDelay, Default: "1 s", Origin: flink, Doc: "Pause before a restart; the first one of a region comes at once."},
	{Key: FailureRateMaxFailures, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Failures in an interval before the job fails."},
	{Key: FailureRateInterval, Default: "1 min", Range: Range{Above: "0"}, Origin: flink, Doc: "The interval in which failures are counted."},
	{Key: FailureRateDelay, Default: "1 s", Origin: flink, Doc: "Pause before a restart."},
	{Key: ExponentialInitialBackoff, Default: "1 s", Range: Range{Above: "0"}, Origin: flink, Doc: "First pause before a restart."},
	{Key: ExponentialMaxBackoff, Default: "1 min", Origin: flink, Doc: "Longest pause before a restart."},
	{Key: ExponentialMultiplier, Default: "1.5", Range: Range{Least: "1"}, Origin: flink, Doc: "Factor from one pause to the next."},
	{Key: ExponentialResetThreshold, Default: "1 h", Origin: flink, Doc: "After this time without a failure the pause is the first one again."},
	{Key: ExponentialJitter, Default: "0.1", Range: Range{Least: "0", Most: "1"}, Origin: flink, Doc: "Part of the pause by which it varies at random."},
	{Key: ExponentialMaxAttempts, Default: unlimited, Range: Range{Least: "0"}, Origin: flink, Doc: "Restarts before the job fails."},

	{Key: TaskManagerProcessSize, Default: "1g", Origin: flink + ": 1728m", Doc: "Memory of a TaskExecutor's container, its task hosts included; the flag `-tm`."},
	{Key: TaskManagerManagedFraction, Default: "0.4", Range: Range{Least: "0", Most: "1"}, Origin: flink, Doc: "Part of a slot's memory that operators may hold in tables and buffers of their own."},
	{Key: TaskManagerNetworkFraction, Default: "0.1", Range: Range{Least: "0", Most: "1"}, Origin: flink, Doc: "Part of a slot's memory for buffers between tasks."},
	{Key: TaskManagerNetworkMin, Default: "8m", Range: Range{Above: "0"}, Origin: flink + ": 64m", Doc: "Least memory of a task host for buffers between tasks."},
	{Key: TaskManagerNetworkMax, Default: "1g", Range: Range{Above: "0"}, Origin: flink + ": unlimited", Doc: "Most memory of a task host for buffers between tasks."},
	{Key: TaskManagerCores, Default: "0", Range: Range{Least: "0"}, Origin: flink + ": none", Doc: "Cores of a TaskExecutor, rounded up; 0 leaves them to `yarn.containers.vcores`."},
	{Key: TaskSlots, Default: "1", Range: Range{Least: "1"}, Origin: flink, Doc: "Slots of a TaskExecutor; the flag `-s`."},
	{Key: TaskManagerSlotTimeout, Default: "10 s", Range: Range{Above: "0"}, Origin: flink, Doc: "A slot that its job does not take for so long is free again."},
	{Key: TaskManagerRegistrationTimeout, Default: "5 min", Range: Range{Above: "0"}, Origin: flink, Doc: "A TaskExecutor that cannot register for so long ends itself."},
	{Key: TaskCancellationTimeout, Default: "30 s", Range: Range{Above: "0"}, Origin: flink + ": 180 s", Doc: "A task that does not end for so long after it was cancelled ends with its task host."},
}
