package yarnrpc

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// ResourceManagerPolicy returns the policy with which Hadoop's own clients try to reach a
// ResourceManager (RMProxy): yarn.resourcemanager.connect.max-wait.ms, 15 minutes by default, at
// intervals of yarn.resourcemanager.connect.retry-interval.ms, 30 s. With
// yarn.resourcemanager.ha.enabled, the waits after each round over the ResourceManagers grow
// from yarn.client.failover-sleep-base-ms to yarn.client.failover-sleep-max-ms. Both default to
// the retry interval. yarn.client.failover-max-attempts, if set, replaces the time limit.
//
// yarn.client.failover-retries and yarn.client.failover-retries-on-socket-timeouts are not read.
// They say how often ipc.Client dials one ResourceManager before it tries the next. A Proxy
// tries the next at once, as with their default of 0.
func ResourceManagerPolicy(conf *hadoopconf.Conf) (Policy, error) {
	s := settings{conf: conf}
	p := Policy{
		MaxWait:   s.patience("yarn.resourcemanager.connect.max-wait.ms"),
		BaseDelay: s.milliseconds("yarn.resourcemanager.connect.retry-interval.ms"),
	}
	if s.bool("yarn.resourcemanager.ha.enabled") {
		interval := p.BaseDelay
		p.BaseDelay = s.millisecondsOr("yarn.client.failover-sleep-base-ms", interval)
		p.MaxDelay = s.millisecondsOr("yarn.client.failover-sleep-max-ms", interval)
		if attempts := s.number("yarn.client.failover-max-attempts"); attempts > 0 {
			p.MaxWait, p.MaxFailovers = -1, attempts
		}
	}
	return s.policy(p)
}

// NodeManagerPolicy returns the policy with which Hadoop's own clients try to reach a
// NodeManager (NMProxy): yarn.client.nodemanager-connect.max-wait-ms, 3 minutes by default, at
// intervals of yarn.client.nodemanager-connect.retry-interval-ms, 10 s.
func NodeManagerPolicy(conf *hadoopconf.Conf) (Policy, error) {
	s := settings{conf: conf}
	return s.policy(Policy{
		MaxWait:   s.patience("yarn.client.nodemanager-connect.max-wait-ms"),
		BaseDelay: s.milliseconds("yarn.client.nodemanager-connect.retry-interval-ms"),
	})
}

// NameNodePolicy returns the policy with which Hadoop's own clients try to reach the NameNodes
// of an authority. For a nameservice (ConfiguredFailoverProxyProvider) it is
// dfs.client.failover.max.attempts, 15, with waits that grow from
// dfs.client.failover.sleep.base.millis, 500, to dfs.client.failover.sleep.max.millis, 15,000.
// For a single NameNode (ipc.Client) it is ipc.client.connect.max.retries, 10, and
// ipc.client.connect.max.retries.on.timeouts, 45, at intervals of
// ipc.client.connect.retry.interval, 1 s.
//
// dfs.client.failover.connection.retries and dfs.client.failover.connection.retries.on.timeouts
// are not read. They say how often ipc.Client dials one NameNode of a nameservice before it
// tries the next. A Proxy tries the next at once, as with their default of 0. hdfs.FromConf
// reads dfs.client.failover.random.order, which is about addresses.
func NameNodePolicy(conf *hadoopconf.Conf, nameservice bool) (Policy, error) {
	s := settings{conf: conf}
	p := Policy{MaxWait: -1}
	if nameservice {
		p.MaxFailovers = s.number("dfs.client.failover.max.attempts")
		p.BaseDelay = s.milliseconds("dfs.client.failover.sleep.base.millis")
		p.MaxDelay = s.milliseconds("dfs.client.failover.sleep.max.millis")
	} else {
		p.MaxFailovers = s.number("ipc.client.connect.max.retries")
		p.MaxTimeouts = s.number("ipc.client.connect.max.retries.on.timeouts")
		p.BaseDelay = s.milliseconds("ipc.client.connect.retry.interval")
	}
	if p.MaxFailovers <= 0 {
		p.MaxWait = 0 // one try
	}
	return s.policy(p)
}

// settings reads values and keeps the first error.
type settings struct {
	conf *hadoopconf.Conf
	err  error
}

func (s *settings) policy(p Policy) (Policy, error) {
	if s.err != nil {
		return Policy{}, s.err
	}
	return p, nil
}

func (s *settings) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *settings) bool(name string) bool {
	v, err := s.conf.Bool(name)
	s.keep(err)
	return v
}

func (s *settings) number(name string) int {
	v, err := s.conf.Int(name)
	s.keep(err)
	return int(v)
}

func (s *settings) milliseconds(name string) time.Duration {
	v, err := s.conf.Duration(name, time.Millisecond)
	s.keep(err)
	return v
}

// millisecondsOr is milliseconds with a default.
func (s *settings) millisecondsOr(name string, otherwise time.Duration) time.Duration {
	if _, isSet, err := s.conf.Lookup(name); err == nil && !isSet {
		return otherwise
	}
	return s.milliseconds(name)
}

// patience reads a total time to wait; -1 means no limit.
func (s *settings) patience(name string) time.Duration {
	v := s.milliseconds(name)
	if v < 0 && v != -time.Millisecond {
		s.keep(&hadoopconf.ValueError{
			Name: name, Value: s.conf.Get(name), Source: s.conf.SourceOf(name), Want: "a time in milliseconds, or -1 for no limit",
		})
	}
	return v
}
