//go:build !unix

package control

// Speaker reports nothing on this platform.
type Speaker struct{}

// Speak returns nil.
func Speak() *Speaker { return nil }

// JobBegins does nothing.
func (*Speaker) JobBegins() {}

// JobEnds does nothing.
func (*Speaker) JobEnds() {}

// Ended does nothing.
func (*Speaker) Ended() {}
