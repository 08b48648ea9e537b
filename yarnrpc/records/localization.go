package records

// LocalizationState is the state of a file's localization for a container
// (org.apache.hadoop.yarn.api.records.LocalizationState).
type LocalizationState string

const (
	LocalizationPending   LocalizationState = "PENDING"
	LocalizationCompleted LocalizationState = "COMPLETED" // it is in the working directory
	LocalizationFailed    LocalizationState = "FAILED"
)

// LocalizationStatus is a NodeManager's report of one local resource of a
// container.
type LocalizationStatus struct {
	Name        string // of the link in the working directory
	State       LocalizationState
	Diagnostics string // why it failed
}
