package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// The steps of a job's start-up, for users who ask what takes the time.
const (
	stepWorker   = "first worker registered"
	stepHost     = "first task host ready"
	stepDeployed = "first tasks deployed"
	stepRunning  = "first task running"
)

// reached notes when the job reached a step for the first time. Restarts do not count.
func (c *core) reached(name string) {
	if !slices.ContainsFunc(c.steps, func(s msg.Step) bool { return s.Name == name }) {
		c.steps = append(c.steps, msg.Step{Name: name, At: c.now})
	}
}
