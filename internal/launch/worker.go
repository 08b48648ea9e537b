package launch

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// WorkerTag is the tag of TaskExecutors' containers, for placement constraints.
const WorkerTag = "taskmanager"

// WorkerPlace says which containers to request for TaskExecutors, and where. The zero value means
// guaranteed containers on any node, with only memory and cores.
type WorkerPlace struct {
	NodeLabel string // "": nodes without a label
	// Constraint is the placement constraint; nil: none.
	Constraint    records.PlacementConstraint
	ExecutionType records.ExecutionType // "": guaranteed
	// External has the external resources of the container of a worker with default slots, by their
	// names in external-resources. Types has YARN's name for each.
	External msg.ExternalResources
	Types    map[string]string
}

// PlaceOf reads the WorkerPlace from options. Options that contradict each other are an error,
// which wraps config.ErrInvalid.
func PlaceOf(c config.Config) (WorkerPlace, error) {
	place := WorkerPlace{NodeLabel: c.String(config.YarnWorkerNodeLabel)}
	if place.NodeLabel == "" {
		place.NodeLabel = c.String(config.YarnNodeLabel)
	}
	if c.String(config.YarnWorkerExecution) == string(records.ExecutionOpportunistic) {
		place.ExecutionType = records.ExecutionOpportunistic
	}
	var err error
	if place.External, place.Types, err = ExternalResources(c); err != nil {
		return place, err
	}
	text := c.String(config.YarnWorkerPlacement)
	if text == "" {
		return place, nil
	}
	constraint, err := records.ParsePlacementConstraint(text)
	if err != nil {
		return place, fmt.Errorf("option %s: %w: %w", config.YarnWorkerPlacement, config.ErrInvalid, err)
	}
	if place.ExecutionType != "" {
		return place, fmt.Errorf("option %s: %w: YARN does not support constraints for opportunistic containers (%s)",
			config.YarnWorkerPlacement, config.ErrInvalid, config.YarnWorkerExecution)
	}
	if place.NodeLabel != "" {
		tags, ok := constraint.(records.TagConstraint)
		if !ok {
			return place, fmt.Errorf("option %s: %w: YARN supports a node label (%s) only with a single constraint on tags",
				config.YarnWorkerPlacement, config.ErrInvalid, config.YarnWorkerNodeLabel)
		}
		tags.Partition = place.NodeLabel
		constraint = tags
	}
	place.Constraint = constraint
	return place, nil
}

// WorkerProcess is what the process of a TaskExecutor starts with.
type WorkerProcess struct {
	Environment map[string]string // for a child of the AM: besides the AM's own
	Credentials []byte            // creds.Credentials.Marshal; for the worker alone
}
