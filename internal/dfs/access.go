package dfs

import (
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// accessTo returns the options for the NameNodes of an authority: those of the configuration,
// within the limits of o.
func accessTo(authority string, o Options) (hdfs.DialerOptions, error) {
	if o.User == "" {
		return hdfs.DialerOptions{}, errors.New("no user is set")
	}
	access, err := hdfs.FromConf(o.Conf, authority, o.User)
	if err != nil {
		return hdfs.DialerOptions{}, err
	}
	access.RPC.User.Real = o.RealUser
	access.RPC.Login = o.Login
	if o.Credentials != nil {
		access.RPC.Token = hdfs.TokenSource(o.Conf, authority, o.Credentials)
	}
	access.Observe = o.ObserveData
	access.RPC.Dial, access.RPC.Observe, access.RPC.Logger = o.Dial, o.Observe, logging.Slog(o.Logger)
	if o.Patience > 0 {
		access.Policy.MaxWait, access.Policy.MaxFailovers, access.Policy.MaxTimeouts = o.Patience, 0, 0
		access.Policy.Limit = o.Limit
		access.Policy.BaseDelay = min(access.Policy.BaseDelay, o.Patience/10) // a patience of a second must allow several tries
		access.RPC.ConnectTimeout = shorter(access.RPC.ConnectTimeout, o.Patience)
		access.RPC.RPCTimeout = shorter(access.RPC.RPCTimeout, o.Patience)
		access.Silence = shorter(access.Silence, o.Patience)
	}
	return access, nil
}

// shorter returns the shorter of two durations. A duration that is not positive means forever.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 {
		return b
	}
	return min(a, b)
}
