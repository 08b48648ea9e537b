package restapi

// TaskManagersInfo is the answer to GET /taskmanagers; Flink's class of that name.
type TaskManagersInfo struct {
	TaskManagers []TaskManagerInfo `json:"taskmanagers"`
}

// TaskManagerInfo is a registered TaskExecutor; Flink's class of that name.
type TaskManagerInfo struct {
	ID            string              `json:"id"`
	Path          string              `json:"path"`
	DataPort      int                 `json:"dataPort"`
	JMXPort       int                 `json:"jmxPort"`
	LastHeartbeat int64               `json:"timeSinceLastHeartbeat"` // a point in time, in spite of its name
	Slots         int                 `json:"slotsNumber"`
	FreeSlots     int                 `json:"freeSlots"`
	TotalResource ResourceProfile     `json:"totalResource"`
	FreeResource  ResourceProfile     `json:"freeResource"`
	Hardware      Hardware            `json:"hardware"`
	Memory        MemoryConfiguration `json:"memoryConfiguration"`
}

// TaskManagerDetails is the answer to GET /taskmanagers/{worker}; Flink's TaskManagerDetailsInfo.
type TaskManagerDetails struct {
	TaskManagerInfo
	AllocatedSlots []AllocatedSlot    `json:"allocatedSlots"`
	Metrics        TaskManagerMetrics `json:"metrics"`
}

// AllocatedSlot is a slot that is not free; Flink's SlotInfo.
type AllocatedSlot struct {
	Job      string          `json:"jobId"`
	Resource ResourceProfile `json:"resource"`
}

// TaskManagerMetrics is Flink's TaskManagerMetricsInfo, in bytes. -1: not known, or not a thing of Go.
type TaskManagerMetrics struct {
	HeapUsed                 int64              `json:"heapUsed"`
	HeapCommitted            int64              `json:"heapCommitted"`
	HeapMax                  int64              `json:"heapMax"`
	NonHeapUsed              int64              `json:"nonHeapUsed"`
	NonHeapCommitted         int64              `json:"nonHeapCommitted"`
	NonHeapMax               int64              `json:"nonHeapMax"`
	DirectCount              int64              `json:"directCount"`
	DirectUsed               int64              `json:"directUsed"`
	DirectMax                int64              `json:"directMax"`
	MappedCount              int64              `json:"mappedCount"`
	MappedUsed               int64              `json:"mappedUsed"`
	MappedMax                int64              `json:"mappedMax"`
	MemorySegmentsAvailable  int64              `json:"memorySegmentsAvailable"`
	MemorySegmentsTotal      int64              `json:"memorySegmentsTotal"`
	ShuffleSegmentsAvailable int64              `json:"nettyShuffleMemorySegmentsAvailable"`
	ShuffleSegmentsUsed      int64              `json:"nettyShuffleMemorySegmentsUsed"`
	ShuffleSegmentsTotal     int64              `json:"nettyShuffleMemorySegmentsTotal"`
	ShuffleAvailable         int64              `json:"nettyShuffleMemoryAvailable"`
	ShuffleUsed              int64              `json:"nettyShuffleMemoryUsed"`
	ShuffleTotal             int64              `json:"nettyShuffleMemoryTotal"`
	GarbageCollectors        []GarbageCollector `json:"garbageCollectors"`
	// Partitions are the finished blocking partitions that the worker holds. Flink has no number of them.
	Partitions     int64 `json:"partitions"`
	PartitionBytes int64 `json:"partitionBytes"` // of their files
}

// GarbageCollector is Flink's GarbageCollectorInfo.
type GarbageCollector struct {
	Name  string `json:"name"`
	Count int64  `json:"count"` // of collections
	Time  int64  `json:"time"`
}

// ResourceProfile is Flink's ResourceProfileInfo; memory in MB.
type ResourceProfile struct {
	CPUCores          float64            `json:"cpuCores"`
	TaskHeapMemory    int                `json:"taskHeapMemory"`
	TaskOffHeapMemory int                `json:"taskOffHeapMemory"`
	ManagedMemory     int                `json:"managedMemory"`
	NetworkMemory     int                `json:"networkMemory"`
	ExtendedResources map[string]float64 `json:"extendedResources"`
}

// Hardware is Flink's HardwareDescription; memory in bytes.
type Hardware struct {
	CPUCores       int   `json:"cpuCores"`
	PhysicalMemory int64 `json:"physicalMemory"`
	FreeMemory     int64 `json:"freeMemory"`
	ManagedMemory  int64 `json:"managedMemory"`
}

// MemoryConfiguration is Flink's TaskExecutorMemoryConfiguration, in bytes.
type MemoryConfiguration struct {
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
