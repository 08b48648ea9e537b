package impure

import "time"

type configured struct {
	clock  func() time.Time   // want "impure.configured.clock is a function"
	clocks []func() time.Time // want "impure.configured.clocks[] is a function"
}

func (c configured) Step(time.Time, int) []string {
	_ = c.clocks[0]()                                              // want "calls a function from field clocks"
	return []string{c.clock().String(), clocks["ours"]().String()} // want "calls a function from field clock"
}

var clocks = map[string]func() time.Time{
	"ours": time.Now, // want "impure.configured.Step → impure.clocks: uses time.Now"
}
