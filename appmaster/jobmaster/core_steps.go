package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// The steps of a job's start-up, for people who ask where the time goes.
const (
	stepWorker   = "first worker registered"
	stepHost     = "first task host ready"
	stepDeployed = "first tasks deployed"
	stepRunning  = "first task running"
)

// reached notes when a step was reached first; restarts do not count.
func (c *core) reached(name string) {
	if !slices.ContainsFunc(c.steps, func(s msg.Step) bool { return s.Name == name }) {
		c.steps = append(c.steps, msg.Step{Name: name, At: c.now})
	}
}
