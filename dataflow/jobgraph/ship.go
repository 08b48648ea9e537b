package jobgraph

import "fmt"

// Ship says how a producer chooses among the consumer subtasks of an edge, for people; Flink's ship strategy.
type Ship string

// The ship strategies.
const (
	ShipForward   Ship = "FORWARD"   // to the subtask with the same index
	ShipRebalance Ship = "REBALANCE" // to each one in turn
	ShipHash      Ship = "HASH"      // by the hash of the key
	ShipRange     Ship = "RANGE"     // by the range of the key
	ShipBroadcast Ship = "BROADCAST" // to all of them
	ShipCustom    Ship = "CUSTOM"    // as a function of the user says
	ShipGather    Ship = "GATHER"    // there is only one
)

// Bounds of what a graph tells people, in bytes.
const (
	// MaxWhy bounds a reason and a note.
	MaxWhy  = 1 << 10
	maxShip = 1 << 5

	maxRoute = 1 << 6
)

// validateTexts bounds what the graph tells people, and the routes.
func (g *JobGraph) validateTexts() error {
	for _, e := range g.Edges {
		if len(e.Route) > maxRoute {
			return fmt.Errorf("%w: edge %d -> %d has a route of %d bytes, want at most %d", ErrInvalid, e.From, e.To, len(e.Route), maxRoute)
		}
		if len(e.Ship) > maxShip || len(e.Why) > MaxWhy {
			return fmt.Errorf("%w: edge %d -> %d has a ship strategy of %d bytes and a reason of %d, want at most %d and %d",
				ErrInvalid, e.From, e.To, len(e.Ship), len(e.Why), maxShip, MaxWhy)
		}
	}
	for i, v := range g.Vertices {
		if len(v.Notes) > len(v.Operators) {
			return fmt.Errorf("%w: vertex %d %q has %d notes on %d operators", ErrInvalid, i, v.Name, len(v.Notes), len(v.Operators))
		}
		for _, note := range v.Notes {
			if len(note) > MaxWhy {
				return fmt.Errorf("%w: vertex %d %q has a note of %d bytes, want at most %d", ErrInvalid, i, v.Name, len(note), MaxWhy)
			}
		}
	}
	return nil
}
