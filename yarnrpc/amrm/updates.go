package amrm

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// UpdateType is a way to change a container
// (org.apache.hadoop.yarn.api.records.ContainerUpdateType).
type UpdateType string

const (
	Increase UpdateType = "INCREASE_RESOURCE"
	Decrease UpdateType = "DECREASE_RESOURCE"
	Promote  UpdateType = "PROMOTE_EXECUTION_TYPE" // opportunistic to guaranteed
	Demote   UpdateType = "DEMOTE_EXECUTION_TYPE"  // guaranteed to opportunistic
)

// Errors of Client.Resize, Promote and Demote, which wrap them.
var (
	// ErrUpdateOutstanding says that YARN has not answered the last update of this
	// container yet. YARN takes one at a time.
	ErrUpdateOutstanding = errors.New("an earlier update of the container is not answered yet")
	// ErrUpdateUseless says that the update changes nothing, or that it raises one
	// resource and lowers another. YARN would refuse it or never answer.
	ErrUpdateUseless = errors.New("the update changes nothing, or raises one resource and lowers another")
)

// ContainerUpdate is a requested change of a container (UpdateContainerRequest).
type ContainerUpdate struct {
	Container     records.ContainerID
	Version       int // of the container, when it was asked for
	Type          UpdateType
	Resource      records.Resource      // the new size; Increase and Decrease only
	ExecutionType records.ExecutionType // the new type; Promote and Demote only
}

// UpdatedContainer is a container that YARN has changed. After Increase, Promote and
// Demote, the caller must tell the NodeManager with nmclient's Update before the
// container's token expires. Otherwise YARN takes the change back.
type UpdatedContainer struct {
	Type      UpdateType
	Container records.Container // with its new version, size and token
}

// Reasons of UpdateError (RMServerUtils).
const (
	ReasonVersion     = "INCORRECT_CONTAINER_VERSION_ERROR"
	ReasonContainer   = "INVALID_CONTAINER_ID"
	ReasonOutstanding = "UPDATE_OUTSTANDING_ERROR"
	ReasonRange       = "RESOURCE_OUTSIDE_ALLOWED_RANGE"
)

// UpdateError is an update that YARN has refused (UpdateContainerError). The update
// is no longer outstanding. If YARN refuses it with ReasonContainer right after a
// resync, ask again: the container's NodeManager had not reported yet.
type UpdateError struct {
	Update         ContainerUpdate
	Reason         string
	CurrentVersion int // of the container
}

func (e *UpdateError) Error() string {
	return fmt.Sprintf("update %s for version %d of %s, which has version %d: %s",
		e.Update.Type, e.Update.Version, e.Update.Container, e.CurrentVersion, e.Reason)
}

// resize returns the update that gives a container another size.
func resize(c records.Container, to records.Resource) (ContainerUpdate, error) {
	update := ContainerUpdate{Container: c.ID, Version: c.Version, Type: Increase, Resource: to}
	switch {
	case to == c.Resource || !to.Fits(c.Resource) && !c.Resource.Fits(to):
		return ContainerUpdate{}, fmt.Errorf("resize %s from %s to %s: %w", c.ID, c.Resource, to, ErrUpdateUseless)
	case to.Fits(c.Resource):
		update.Type = Decrease
	}
	return update, nil
}

// retype returns the update that gives a container another execution type.
func retype(c records.Container, kind UpdateType, to records.ExecutionType) (ContainerUpdate, error) {
	if canonical(c.ExecutionType) == canonical(to) {
		return ContainerUpdate{}, fmt.Errorf("make %s %s: %w", c.ID, to, ErrUpdateUseless)
	}
	return ContainerUpdate{Container: c.ID, Version: c.Version, Type: kind, ExecutionType: to}, nil
}

// updateTable holds the updates that YARN has not answered.
type updateTable map[records.ContainerID]*pendingUpdate

type pendingUpdate struct {
	update ContainerUpdate
	told   bool
}

func (t updateTable) add(update ContainerUpdate) error {
	if _, ok := t[update.Container]; ok {
		return fmt.Errorf("update %s: %w", update.Container, ErrUpdateOutstanding)
	}
	t[update.Container] = &pendingUpdate{update: update}
	return nil
}

func (t updateTable) untold() []ContainerUpdate {
	var updates []ContainerUpdate
	for _, id := range slices.SortedFunc(maps.Keys(t), compareContainers) {
		if !t[id].told {
			updates = append(updates, t[id].update)
		}
	}
	return updates
}

func (t updateTable) sent(updates []ContainerUpdate) {
	for _, u := range updates {
		if p, ok := t[u.Container]; ok {
			p.told = true
		}
	}
}

func (t updateTable) forget() {
	for _, p := range t {
		p.told = false
	}
}
