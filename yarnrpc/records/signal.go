package records

// ContainerSignal is a signal from a NodeManager to a container's processes
// (org.apache.hadoop.yarn.api.records.SignalContainerCommand).
type ContainerSignal string

const (
	SignalThreadDump       ContainerSignal = "OUTPUT_THREAD_DUMP" // SIGQUIT: a JVM prints its threads to stdout, most other processes die
	SignalGracefulShutdown ContainerSignal = "GRACEFUL_SHUTDOWN"  // SIGTERM
	SignalForcefulShutdown ContainerSignal = "FORCEFUL_SHUTDOWN"  // SIGKILL
)
