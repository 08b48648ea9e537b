package rest

import "encoding/json"

// The JSON shapes of Flink 1.20's REST API, by the names of its classes in
// org.apache.flink.runtime.rest.messages. Times and durations are milliseconds;
// -1 stands for what has not happened.
type (
	clusterOverview struct { // ClusterOverviewWithVersion
		TaskManagers   int    `json:"taskmanagers"`
		SlotsTotal     int    `json:"slots-total"`
		SlotsAvailable int    `json:"slots-available"`
		JobsRunning    int    `json:"jobs-running"`
		JobsFinished   int    `json:"jobs-finished"`
		JobsCancelled  int    `json:"jobs-cancelled"`
		JobsFailed     int    `json:"jobs-failed"`
		Version        string `json:"flink-version"`
		Commit         string `json:"flink-commit"`
	}

	dashboardConfiguration struct { // DashboardConfiguration
		RefreshInterval int64             `json:"refresh-interval"`
		TimezoneName    string            `json:"timezone-name"`
		TimezoneOffset  int64             `json:"timezone-offset"`
		Version         string            `json:"flink-version"`
		Revision        string            `json:"flink-revision"`
		Features        dashboardFeatures `json:"features"`
	}
	dashboardFeatures struct {
		WebSubmit  bool `json:"web-submit"`
		WebCancel  bool `json:"web-cancel"`
		WebRescale bool `json:"web-rescale"`
		WebHistory bool `json:"web-history"`
	}

	configEntry struct { // ConfigurationInfoEntry; ConfigurationInfo is a list of them
		Key   string `json:"key"`
		Value string `json:"value"`
	}

	environmentInfo struct { // EnvironmentInfo
		JVM       jvmInfo  `json:"jvm"`
		Classpath []string `json:"classpath"` // always empty
	}
	jvmInfo struct { // EnvironmentInfo.JVMInfo
		Version string   `json:"version"`
		Arch    string   `json:"arch"`
		Options []string `json:"options"`
	}

	vertexRequirements struct { // JobVertexResourceRequirements; JobResourceRequirementsBody has them by vertex
		Parallelism parallelismBounds `json:"parallelism"`
	}
	parallelismBounds struct { // JobVertexResourceRequirements.Parallelism
		Lower int `json:"lowerBound"`
		Upper int `json:"upperBound"`
	}

	triggerResponse struct { // TriggerResponse
		ID string `json:"request-id"`
	}
	asynchronousResult struct { // AsynchronousOperationResult
		Status    queueStatus      `json:"status"`
		Operation *operationResult `json:"operation,omitempty"` // once it has ended
	}
	operationResult struct { // AsynchronousOperationInfo
		FailureCause *failureCause `json:"failure-cause,omitempty"`
	}

	dataSets struct { // ClusterDataSetListResponseBody
		DataSets []struct{} `json:"dataSets"`
	}

	jarList struct { // JarListInfo
		Address string    `json:"address"`
		Files   []jarFile `json:"files"`
	}
	jarFile struct { // JarListInfo.JarFileInfo
		ID       string     `json:"id"`
		Name     string     `json:"name"`
		Uploaded int64      `json:"uploaded"`
		Entry    []jarEntry `json:"entry"` // programs have one main each, and no list of it
	}
	jarEntry struct { // JarListInfo.JarEntryInfo
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
	jarUploaded struct { // JarUploadResponseBody
		Filename string `json:"filename"`
		Status   string `json:"status"`
	}

	jobIDsWithStatus struct { // JobIdsWithStatusOverview
		Jobs []jobIDWithStatus `json:"jobs"`
	}
	jobIDWithStatus struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}

	multipleJobsDetails struct { // MultipleJobsDetails
		Jobs []jobOverview `json:"jobs"`
	}
	jobOverview struct { // JobDetails
		ID               string         `json:"jid"`
		Name             string         `json:"name"`
		StartTime        int64          `json:"start-time"`
		EndTime          int64          `json:"end-time"`
		Duration         int64          `json:"duration"`
		State            string         `json:"state"`
		LastModification int64          `json:"last-modification"`
		Tasks            map[string]int `json:"tasks"` // states in lower case, and "total"
	}

	jobDetailsInfo struct { // JobDetailsInfo
		ID             string           `json:"jid"`
		Name           string           `json:"name"`
		IsStoppable    bool             `json:"isStoppable"`
		State          string           `json:"state"`
		JobType        string           `json:"job-type"`
		StartTime      int64            `json:"start-time"`
		EndTime        int64            `json:"end-time"`
		Duration       int64            `json:"duration"`
		MaxParallelism int64            `json:"maxParallelism"`
		Now            int64            `json:"now"`
		Timestamps     map[string]int64 `json:"timestamps"` // 0 for a state never entered
		Vertices       []vertexInfo     `json:"vertices"`
		StatusCounts   map[string]int   `json:"status-counts"`
		Plan           JobPlan          `json:"plan"`
	}
	vertexInfo struct { // JobDetailsInfo.JobVertexDetailsInfo
		ID                 string         `json:"id"`
		SlotSharingGroupID string         `json:"slotSharingGroupId"`
		Name               string         `json:"name"`
		MaxParallelism     int            `json:"maxParallelism"`
		Parallelism        int            `json:"parallelism"`
		Status             string         `json:"status"`
		StartTime          int64          `json:"start-time"`
		EndTime            int64          `json:"end-time"`
		Duration           int64          `json:"duration"`
		Tasks              map[string]int `json:"tasks"`
		Metrics            ioMetrics      `json:"metrics"`
	}
	ioMetrics struct { // IOMetricsInfo
		ReadBytes            int64   `json:"read-bytes"`
		ReadBytesComplete    bool    `json:"read-bytes-complete"`
		WriteBytes           int64   `json:"write-bytes"`
		WriteBytesComplete   bool    `json:"write-bytes-complete"`
		ReadRecords          int64   `json:"read-records"`
		ReadRecordsComplete  bool    `json:"read-records-complete"`
		WriteRecords         int64   `json:"write-records"`
		WriteRecordsComplete bool    `json:"write-records-complete"`
		BackpressuredTime    int64   `json:"accumulated-backpressured-time"`
		IdleTime             int64   `json:"accumulated-idle-time"`
		BusyTime             float64 `json:"accumulated-busy-time"`
	}
	jobPlanInfo struct { // JobPlanInfo
		Plan JobPlan `json:"plan"`
	}
	jobStatusInfo struct { // JobStatusInfo
		Status string `json:"status"`
	}

	jobConfigInfo struct { // JobConfigInfo
		ID     string          `json:"jid"`
		Name   string          `json:"name"`
		Config executionConfig `json:"execution-config"`
	}
	executionConfig struct { // JobConfigInfo.ExecutionConfigInfo
		Mode            string            `json:"execution-mode"`
		RestartStrategy string            `json:"restart-strategy"`
		Parallelism     int               `json:"job-parallelism"`
		ObjectReuse     bool              `json:"object-reuse-mode"`
		UserConfig      map[string]string `json:"user-config"`
	}

	jobAccumulators struct { // JobAccumulatorsInfo
		Job            []struct{}                 `json:"job-accumulators"` // Flink's, always empty
		UserTask       []userAccumulator          `json:"user-task-accumulators"`
		SerializedUser map[string]json.RawMessage `json:"serialized-user-task-accumulators"` // Java's; always empty
	}
	userAccumulator struct { // JobAccumulatorsInfo.UserTaskAccumulator
		Name  string `json:"name"`
		Type  string `json:"type"`
		Value string `json:"value"`
	}

	jobExceptions struct { // JobExceptionsInfoWithHistory
		RootException *string          `json:"root-exception"`
		Timestamp     *int64           `json:"timestamp"`
		AllExceptions []taskException  `json:"all-exceptions"` // deprecated in Flink, and read by its older clients
		Truncated     bool             `json:"truncated"`
		History       exceptionHistory `json:"exceptionHistory"`
	}
	taskException struct { // JobExceptionsInfo.ExecutionExceptionInfo
		Exception     string `json:"exception"`
		Task          string `json:"task"`
		Location      string `json:"location"`
		Endpoint      string `json:"endpoint"`
		Timestamp     int64  `json:"timestamp"`
		TaskManagerID string `json:"taskManagerId"`
	}
	exceptionHistory struct {
		Entries   []exceptionInfo `json:"entries"`
		Truncated bool            `json:"truncated"`
	}
	exceptionInfo struct { // JobExceptionsInfoWithHistory.RootExceptionInfo
		ExceptionName        string            `json:"exceptionName"`
		Stacktrace           string            `json:"stacktrace"`
		Timestamp            int64             `json:"timestamp"`
		TaskName             string            `json:"taskName,omitempty"`
		Location             string            `json:"location,omitempty"`
		Endpoint             string            `json:"endpoint,omitempty"`
		TaskManagerID        string            `json:"taskManagerId,omitempty"`
		FailureLabels        map[string]string `json:"failureLabels"`
		ConcurrentExceptions []json.RawMessage `json:"concurrentExceptions"`
	}

	executionResult struct { // JobExecutionResultResponseBody
		Status queueStatus         `json:"status"`
		Result *jobExecutionResult `json:"job-execution-result,omitempty"`
	}
	queueStatus struct { // QueueStatus
		ID string `json:"id"` // IN_PROGRESS or COMPLETED
	}
	jobExecutionResult struct { // JobResultSerializer
		ID                 string                     `json:"id"`
		ApplicationStatus  string                     `json:"application-status"`
		AccumulatorResults map[string]json.RawMessage `json:"accumulator-results"` // Java's serialized form; ours are counters of /result
		NetRuntime         int64                      `json:"net-runtime"`
		FailureCause       *failureCause              `json:"failure-cause,omitempty"`
	}
	failureCause struct { // SerializedThrowableSerializer
		Class      string `json:"class"`
		StackTrace string `json:"stack-trace"`
		Serialized []byte `json:"serialized-throwable"` // Java's object: empty, and never null
	}

	taskManagersInfo struct { // TaskManagersInfo
		TaskManagers []taskManagerInfo `json:"taskmanagers"`
	}
	taskManagerInfo struct { // TaskManagerInfo
		ID            string              `json:"id"`
		Path          string              `json:"path"`
		DataPort      int                 `json:"dataPort"`
		JMXPort       int                 `json:"jmxPort"`
		LastHeartbeat int64               `json:"timeSinceLastHeartbeat"` // a point in time, in spite of its name
		Slots         int                 `json:"slotsNumber"`
		FreeSlots     int                 `json:"freeSlots"`
		TotalResource resourceProfile     `json:"totalResource"`
		FreeResource  resourceProfile     `json:"freeResource"`
		Hardware      hardware            `json:"hardware"`
		Memory        memoryConfiguration `json:"memoryConfiguration"`
	}
	resourceProfile struct { // ResourceProfileInfo; memory in MB
		CPUCores          float64            `json:"cpuCores"`
		TaskHeapMemory    int                `json:"taskHeapMemory"`
		TaskOffHeapMemory int                `json:"taskOffHeapMemory"`
		ManagedMemory     int                `json:"managedMemory"`
		NetworkMemory     int                `json:"networkMemory"`
		ExtendedResources map[string]float64 `json:"extendedResources"`
	}
	hardware struct { // HardwareDescription; memory in bytes
		CPUCores       int   `json:"cpuCores"`
		PhysicalMemory int64 `json:"physicalMemory"`
		FreeMemory     int64 `json:"freeMemory"`
		ManagedMemory  int64 `json:"managedMemory"`
	}
	memoryConfiguration struct { // TaskExecutorMemoryConfiguration; bytes
		FrameworkHeap      int64 `json:"frameworkHeap"`
		TaskHeap           int64 `json:"taskHeap"`
		FrameworkOffHeap   int64 `json:"frameworkOffHeap"`
		TaskOffHeap        int64 `json:"taskOffHeap"`
		NetworkMemory      int64 `json:"networkMemory"`
		ManagedMemory      int64 `json:"managedMemory"`
		JVMMetaspace       int64 `json:"jvmMetaspace"`
		JVMOverhead        int64 `json:"jvmOverhead"`
		TotalFlinkMemory   int64 `json:"totalFlinkMemory"`
		TotalProcessMemory int64 `json:"totalProcessMemory"`
	}

	aggregatedMetric struct { // AggregatedMetric
		ID string `json:"id"`
	}

	empty struct{} // EmptyResponseBody
)

func causeOf(class, stackTrace string) *failureCause {
	return &failureCause{Class: class, StackTrace: stackTrace, Serialized: []byte{}}
}
