package cluster

import (
	"strconv"
	"time"
)

// Clusters on which what lives for days elsewhere lives for minutes. A ResourceManager refuses to start unless its keys
// roll more slowly than three times the expiry that they belong to.

// TokenLife is how long HDFS' delegation tokens can be renewed on a cluster of ShortLives.
const TokenLife = 3 * time.Minute

// ShortLives is a secure cluster whose keys and tokens roll all the time: those of ApplicationMasters and NodeManagers every
// two minutes, tickets after two, and HDFS' delegation tokens die after TokenLife.
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
			// The default of three hours is beyond the life of any token here.
			"yarn.resourcemanager.system-credentials.valid-time-remaining": milliseconds(time.Minute),
		},
	}
}

// TicketLife is how long tickets live on a cluster of ShortTickets.
const TicketLife = 10 * time.Minute

// ShortTickets is a secure cluster whose KDC can be away when tickets end. Three quarters of the time for which HDFS'
// delegation tokens live unless renewed, when Bobbin obtains new ones, are over some 20 s after the end of tickets that
// were got with them: connections that these tickets opened have been closed by then.
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
