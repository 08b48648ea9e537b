package resourcemanager

import "github.com/bobbin-yarn/bobbin/internal/config"

// Configured gives a Config with what options decide; ids and sizes are the
// caller's to fill in.
func Configured(c config.Config) Config {
	r := Default()
	r.MaxSlots = c.Int(config.SlotsMax)
	r.IdleTimeout = c.Duration(config.WorkerIdleTimeout)
	r.RegistrationTimeout = c.Duration(config.WorkerRegistrationTimeout)
	r.MaxStartFailures = c.Fraction(config.StartWorkerMaxFailureRate)
	r.StartRetryInterval = c.Duration(config.StartWorkerRetryInterval)
	r.HeartbeatInterval = c.Duration(config.HeartbeatInterval)
	r.HeartbeatTimeout = c.Duration(config.HeartbeatTimeout)
	return r
}
