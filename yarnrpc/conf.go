package yarnrpc

import (
	"math"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// OptionsFrom reads the options of a client's connections from a Hadoop
// configuration: times, logins, protection and the size of answers (ipc.client.*,
// ipc.ping.interval, ipc.maximum.response.length, hadoop.security.authentication,
// hadoop.rpc.protection). A time of 0 in the files switches the limit off. The
// caller sets Protocol, User, and Token or Login.
func OptionsFrom(conf *hadoopconf.Conf) (Options, error) {
	var o Options
	for _, d := range []struct {
		to   *time.Duration
		name string
	}{
		{&o.ConnectTimeout, "ipc.client.connect.timeout"},
		{&o.PingInterval, "ipc.ping.interval"},
		{&o.MaxIdle, "ipc.client.connection.maxidletime"},
		{&o.RPCTimeout, "ipc.client.rpc-timeout.ms"},
	} {
		var err error
		if *d.to, err = conf.Duration(d.name, time.Millisecond); err != nil {
			return Options{}, err
		}
		if *d.to == 0 {
			*d.to = -1
		}
	}
	pings, err := conf.Bool("ipc.client.ping")
	if err != nil {
		return Options{}, err
	}
	if !pings {
		o.PingInterval = -1
	}
	logins, err := conf.Int("ipc.client.connect.max.retries.on.sasl")
	if err != nil {
		return Options{}, err
	}
	if o.LoginRetries = int(logins); logins <= 0 {
		o.LoginRetries = -1
	}
	size, err := conf.Size("ipc.maximum.response.length")
	if err != nil {
		return Options{}, err
	}
	o.MaxResponse = int(min(size, math.MaxInt32)) // frames have lengths of 32 bits
	o.RequireLogin = conf.SecurityEnabled()
	if o.AllowSimpleFallback, err = conf.Bool("ipc.client.fallback-to-simple-auth-allowed"); err != nil {
		return Options{}, err
	}
	const protection = "hadoop.rpc.protection"
	if o.QOPs, err = sasl.ParseProtection(conf.Get(protection)); err != nil {
		return Options{}, &hadoopconf.ValueError{
			Name: protection, Value: conf.Get(protection), Source: conf.SourceOf(protection),
			Want: "authentication, integrity or privacy, or several separated by commas",
		}
	}
	return o, nil
}
