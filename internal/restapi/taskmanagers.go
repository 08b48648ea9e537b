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
