package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// reached notes when the job reached a step for the first time. Restarts do not count.
func (c *core) reached(name string) {
	if !slices.ContainsFunc(c.steps, func(s msg.Step) bool { return s.Name == name }) {
		c.steps = append(c.steps, msg.Step{Name: name, At: c.now})
	}
}
