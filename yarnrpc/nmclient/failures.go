package nmclient

import (
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ContainerError says why a call failed for one container.
type ContainerError struct {
	Container records.ContainerID
	Node      records.NodeID
	// Err is a *yarnrpc.RemoteError if the NodeManager refused, or the error of the whole call.
	Err error
}

func (e *ContainerError) Error() string {
	return fmt.Sprintf("%s on %s: %v", e.Container, e.Node, e.Err)
}

func (e *ContainerError) Unwrap() error { return e.Err }

// Failures lists the containers for which a call over several containers failed. The call succeeded
// for the others. errors.As finds Failures in the errors of this package. Call yarnrpc.MaybeSent
// for each element, not for the list.
type Failures []*ContainerError

// Error states a failure that several containers of a node share only once.
func (f Failures) Error() string {
	var texts []string
	for rest := f; len(rest) > 0; {
		reason, alike := rest[0].Err.Error(), 1
		for alike < len(rest) && rest[alike].Node == rest[0].Node && rest[alike].Err.Error() == reason {
			alike++
		}
		others := ""
		if alike > 1 {
			others = fmt.Sprintf(" and %d more", alike-1)
		}
		texts = append(texts, fmt.Sprintf("%s%s on %s: %s", rest[0].Container, others, rest[0].Node, reason))
		rest = rest[alike:]
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns each failure.
func (f Failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, one := range f {
		errs[i] = one
	}
	return errs
}

// Of returns the error for a container, or nil if the call succeeded for it.
func (f Failures) Of(id records.ContainerID) error {
	for _, one := range f {
		if one.Container == id {
			return one.Err
		}
	}
	return nil
}

func (f Failures) containers() []records.ContainerID {
	ids := make([]records.ContainerID, len(f))
	for i, one := range f {
		ids[i] = one.Container
	}
	return ids
}

// during returns an error with the failures; nil if there are none.
func (f Failures) during(verb string) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", verb, f)
}

// undecided holds the containers of a call whose outcome is not known yet.
type undecided map[records.ContainerID]bool

func undecidedOf(ids []records.ContainerID) undecided {
	u := make(undecided, len(ids))
	for _, id := range ids {
		u[id] = true
	}
	return u
}

// decide reports whether a result for a container counts: only the first one does, and only for a
// container of the call.
func (u undecided) decide(id records.ContainerID) bool {
	first := u[id]
	delete(u, id)
	return first
}

// refusals returns the exceptions that a NodeManager reports for single containers of a call. If the
// call has only one container, every exception is about that one, whatever container it names.
func (u undecided) refusals(method string, on records.NodeID, refused []*yarnpb.ContainerExceptionMapProto) Failures {
	var only *records.ContainerID
	if len(u) == 1 {
		for id := range u {
			only = &id
		}
	}
	var failed Failures
	for _, r := range refused {
		id := pbconv.ContainerID(r.GetContainerId())
		if only != nil {
			id = *only
		}
		if !u.decide(id) {
			continue
		}
		message, _, _ := strings.Cut(r.GetException().GetMessage(), "\n")
		failed = append(failed, &ContainerError{
			Container: id, Node: on,
			Err: &yarnrpc.RemoteError{Address: on.String(), Method: method, Class: r.GetException().GetClassName(), Message: message},
		})
	}
	return failed
}

// notTold returns failures for the containers that the answer leaves out, in their order.
func (u undecided) notTold(on records.NodeID, ids []records.ContainerID) Failures {
	var failed Failures
	for _, id := range ids {
		if u.decide(id) {
			failed = append(failed, &ContainerError{Container: id, Node: on, Err: ErrNotTold})
		}
	}
	return failed
}

// allOf returns the same error for every container.
func allOf(on records.NodeID, ids []records.ContainerID, err error) Failures {
	failed := make(Failures, len(ids))
	for i, id := range ids {
		failed[i] = &ContainerError{Container: id, Node: on, Err: err}
	}
	return failed
}

// onNodes calls do for each node's items, in parallel, and collects the failures in the order of the
// items' nodes.
func onNodes[T any](limit int, items []T, node func(T) records.NodeID, do func(on records.NodeID, items []T) Failures) Failures {
	var order []records.NodeID
	shares := make(map[records.NodeID][]T)
	for _, item := range items {
		on := node(item)
		if _, known := shares[on]; !known {
			order = append(order, on)
		}
		shares[on] = append(shares[on], item)
	}
	failed := make([]Failures, len(order))
	var group errgroup.Group
	group.SetLimit(limit)
	for i, on := range order {
		group.Go(func() error {
			failed[i] = do(on, shares[on])
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	var all Failures
	for _, f := range failed {
		all = append(all, f...)
	}
	return all
}
