package appmaster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// About is what a process knows of its application beside what its client has sent. Texts are "" and times zero if they are
// not known.
type About struct {
	Submitted       time.Time                // to YARN, by YARN's clock
	Started         time.Time                // this process
	ResourceManager string                   // YARN's address for clients
	LogURL          string                   // of the container
	Container       *restapi.MasterContainer // where this process runs; nil: not known
	// YARN asks YARN about the application and the container of this attempt. With an error it returns what is known all the
	// same. nil: nobody can ask.
	YARN func(context.Context) (Report, error)
	// TrackingURL is the link through YARN's proxy, as the configuration has it. It counts only if nobody can ask YARN.
	TrackingURL string
}

// Report is what YARN says. Texts are "" and times zero if they are not known.
type Report struct {
	Name, Queue, TrackingURL string
	Granted                  time.Time // when YARN gave the container of this attempt
}

// report asks YARN. Without an answer, it tells what YARN has told before. If nobody can ask, it tells what is known without.
func (m *Master) report(ctx context.Context) Report {
	if m.outside.About.YARN == nil {
		return Report{TrackingURL: m.outside.About.TrackingURL}
	}
	report, err := m.outside.About.YARN(ctx)
	if err != nil {
		m.logger.WithError(err).Debug("YARN does not tell about the application")
	}
	return report
}

// application describes the application, for users.
func (m *Master) application(ctx context.Context) (msg.ApplicationDetails, error) {
	o := m.outside
	report := m.report(ctx)
	d := msg.ApplicationDetails{
		ID: o.Attempt.Application.String(), Name: cmp.Or(report.Name, o.Launch.Name), Type: o.Launch.Type,
		User: o.Launch.User, Queue: cmp.Or(report.Queue, m.queue, o.Config.String(config.YarnApplicationQueue)), Mode: string(o.Launch.Mode),
		Attempt: int(o.Attempt.Attempt), Submitted: o.About.Submitted, Started: o.About.Started, TrackingURL: report.TrackingURL,
		ResourceManager: o.About.ResourceManager, HighAvailability: o.Launch.HighAvailability, LogURL: o.About.LogURL,
		Tokens: describeTokens(m.tokens.Current(), o.Tokens.RenewInterval),
	}
	if o.Access != nil {
		d.Address = o.Access().Address
	}
	d.Attempts = m.attemptsIfKnown(ctx)
	return d, nil
}

// attemptsIfKnown lists the attempts for an answer that has more than them. nil: YARN does not tell them.
func (m *Master) attemptsIfKnown(ctx context.Context) []msg.AttemptDetails {
	list, err := m.attempts(ctx)
	if err != nil {
		m.logger.WithError(err).Debug("YARN does not tell about the attempts")
	}
	return list
}

// describeTokens lists the delegation tokens, in the order of their services. Other tokens live as long as the application.
func describeTokens(current *creds.Credentials, interval time.Duration) (all []msg.TokenDetails) {
	if current == nil {
		return nil
	}
	for _, alias := range slices.Sorted(maps.Keys(current.Tokens)) {
		token := current.Tokens[alias]
		if about, err := identifier.DecodeDelegation(token); err == nil {
			all = append(all, msg.TokenDetails{Kind: token.Kind, Service: token.Service, Renewer: about.Renewer, Ends: about.Ends(interval)})
		}
	}
	return all
}
