// Package actor stands for the kit.
package actor

import "time"

// Core is what a role gives to the kit.
type Core[E, F any] interface {
	Step(now time.Time, event E) []F
}
