package taskhost

import "github.com/bobbin-yarn/bobbin/internal/msg"

// reset cancels all tasks, whose JobMaster is lost. Until the host begins anew it reports nothing about them: another
// JobMaster must not take it for news of its own tasks. The TaskExecutor deploys no tasks and sends no second reset
// meanwhile.
func (c *core) reset(m msg.ResetHost) []effect {
	if c.stopping {
		return nil
	}
	c.next = m.Host
	return c.goOn(c.cancelAll())
}

// renewed ends a reset: tasks for the new id are welcome. A host that stops meanwhile has ended already.
func (c *core) renewed(e renewed) []effect {
	c.host, c.next = e.Host, ""
	return []effect{send{msg.HostReady{Host: e.Host, DataAddress: e.Address}}}
}
