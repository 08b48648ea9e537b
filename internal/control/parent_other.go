//go:build !unix

package control

// Speaker says nothing here.
type Speaker struct{}

// Speak makes none.
func Speak() *Speaker { return nil }

// JobBegins says nothing here.
func (*Speaker) JobBegins() {}

// JobEnds says nothing here.
func (*Speaker) JobEnds() {}

// Ended says nothing here.
func (*Speaker) Ended() {}
