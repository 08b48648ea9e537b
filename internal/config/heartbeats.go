package config

import "time"

// Unreachable returns the time after which a machine that acknowledges no data is lost:
// heartbeat.rpc-failure-threshold times heartbeat.interval. If the threshold is not positive, it returns 0, which means
// never.
func Unreachable(c Config) time.Duration {
	return c.Duration(HeartbeatInterval) * time.Duration(max(c.Int(HeartbeatFailureThreshold), 0))
}
