package appmaster

import (
	"context"
	"net"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// attempts lists the attempts of the application, the oldest first: as YARN knows them, or as this attempt does if nobody can ask
// YARN.
func (m *Master) attempts(ctx context.Context) ([]msg.AttemptDetails, error) {
	if m.outside.History != nil {
		return m.outside.History(ctx)
	}
	return m.attemptsWithoutYARN(), nil
}

// These texts stand in place of YARN's diagnostics.
const (
	hasLed   = "it led the application; " + notKnown
	notKnown = "YARN tells the reason of its end only to users and to an application with a keytab"
)

// mostEarlier bounds the list of attempts without YARN. The newest ones are kept.
const mostEarlier = 100

// attemptsWithoutYARN lists this attempt and the ones before. YARN numbers attempts from 1, and this one leads: so the others have
// ended, or can change nothing any more.
func (m *Master) attemptsWithoutYARN() []msg.AttemptDetails {
	o := m.outside
	own := int(o.Attempt.Attempt)
	first := max(1, own-mostEarlier)
	list := make([]msg.AttemptDetails, 0, own-first+1)
	for n := first; n < own; n++ {
		a := msg.AttemptDetails{Attempt: n, Diagnostics: notKnown}
		if m.last.Epoch == ids.Epoch(n) {
			a.Started, a.Diagnostics = m.last.Since, hasLed
			a.Node, _, _ = net.SplitHostPort(m.last.Address) // the Election has parsed it
		}
		list = append(list, a)
	}
	return append(list, msg.AttemptDetails{
		Attempt: own, Container: o.Workers.Container.String(), Node: o.Workers.Host, State: string(records.AttemptRunning), Started: o.About.Started,
	})
}
