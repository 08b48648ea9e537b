package records

// LocalizationState is how far a file has come on its way into a container
// (org.apache.hadoop.yarn.api.records.LocalizationState).
type LocalizationState string

const (
	LocalizationPending   LocalizationState = "PENDING"
	LocalizationCompleted LocalizationState = "COMPLETED" // it stands in the working directory
	LocalizationFailed    LocalizationState = "FAILED"
)

// LocalizationStatus is what a NodeManager says of one local resource of a
// container.
type LocalizationStatus struct {
	Name        string // of the link in the working directory
	State       LocalizationState
	Diagnostics string // why it failed
}
