// Package actor stands for the kit.
package actor

import "time"

// Core is the interface of a role's core.
type Core[E, F any] interface {
	Step(now time.Time, event E) []F
}
