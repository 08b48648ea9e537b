//go:build !unix

package control

// Speaker says nothing here.
type Speaker struct{}

// Speak makes one.
func Speak() Speaker { return Speaker{} }

// Ended says nothing here.
func (Speaker) Ended() {}
