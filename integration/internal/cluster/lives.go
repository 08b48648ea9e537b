package cluster

import (
	"strconv"
	"time"
)

// These clusters have lives of minutes where others have days. A ResourceManager refuses to start unless its keys roll
// more slowly than three times the corresponding expiry interval.

// TokenLife is the time for which HDFS's delegation tokens can be renewed on a cluster of ShortLives.
const TokenLife = 3 * time.Minute

// ShortLives returns a secure cluster whose keys and tokens change often. The keys of ApplicationMasters and
// NodeManagers roll every two minutes, tickets live for two minutes, and HDFS's delegation tokens end after TokenLife.
func ShortLives() Config {
	return Config{
		Kerberos: &Kerberos{Protection: "privacy", TicketLife: 2 * time.Minute, RenewLife: 2 * time.Minute, ClockSkew: 5 * time.Second},
		Core: map[string]string{
			"hadoop.kerberos.min.seconds.before.relogin": "5",
		},
		HDFS: map[string]string{
			"dfs.namenode.delegation.token.max-lifetime":   milliseconds(TokenLife),
			"dfs.namenode.delegation.token.renew-interval": milliseconds(90 * time.Second),
		},
		YARN: map[string]string{
			"yarn.am.liveness-monitor.expiry-interval-ms":                            milliseconds(30 * time.Second),
			"yarn.nm.liveness-monitor.expiry-interval-ms":                            milliseconds(30 * time.Second),
			"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     "120",
			"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        "120",
			"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": "120",
			// The default of three hours is longer than the life of any token here.
			"yarn.resourcemanager.system-credentials.valid-time-remaining": milliseconds(time.Minute),
		},
	}
}

// TicketLife is the life of tickets on a cluster of ShortTickets.
const TicketLife = 10 * time.Minute

// ShortTickets returns a secure cluster whose KDC can be away when tickets end. Bobbin obtains new delegation tokens
// after three quarters of the time for which HDFS's tokens live without renewal. That is some 20 s after the end of the
// tickets with which it got them. By then, the connections opened with these tickets have been closed.
func ShortTickets() Config {
	return Config{
		Kerberos: &Kerberos{Protection: "privacy", TicketLife: TicketLife, RenewLife: TicketLife, ClockSkew: 5 * time.Second},
		Core: map[string]string{
			"hadoop.kerberos.min.seconds.before.relogin": "5",
		},
		HDFS: map[string]string{
			"dfs.namenode.delegation.token.renew-interval": milliseconds(TicketLife*4/3 + 30*time.Second),
		},
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
