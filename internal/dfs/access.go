package dfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// ErrNoLogin is a secure cluster for which there is neither a token nor a Kerberos
// login.
var ErrNoLogin = errors.New("there is neither a token for the NameNode nor a Kerberos login")

// accessTo says how the NameNodes of an authority are reached: by the configuration,
// within the limits that o sets.
func accessTo(authority string, o Options) (hdfs.DialerOptions, error) {
	if o.User == "" {
		return hdfs.DialerOptions{}, errors.New("no user is given to act as")
	}
	access, err := hdfs.FromConf(o.Conf, authority, o.User)
	if err != nil {
		return hdfs.DialerOptions{}, err
	}
	access.RPC.User.Real = o.RealUser
	access.RPC.Login = o.Login
	access.RPC.Token = tokens(authority, o)
	access.RPC.Dial, access.RPC.Logger = o.Dial, o.Logger
	if o.Patience > 0 {
		access.Policy.MaxWait, access.Policy.MaxFailovers, access.Policy.MaxTimeouts = o.Patience, 0, 0
		access.Policy.BaseDelay = min(access.Policy.BaseDelay, o.Patience/10) // who can wait for a second wants several tries
		access.RPC.ConnectTimeout = shorter(access.RPC.ConnectTimeout, o.Patience)
		access.RPC.RPCTimeout = shorter(access.RPC.RPCTimeout, o.Patience)
		access.Silence = shorter(access.Silence, o.Patience)
	}
	return access, nil
}

// tokens gives the token for each connection; nil where the login serves.
func tokens(authority string, o Options) func(ctx context.Context, address string) (*creds.Token, error) {
	credentials := o.Credentials
	if credentials == nil {
		credentials = func() *creds.Credentials { return nil }
	}
	source := hdfs.TokenSource(o.Conf, authority, credentials)
	return func(ctx context.Context, address string) (*creds.Token, error) {
		token, err := source(ctx, address)
		if err == nil && token == nil && o.Login == nil && o.Conf.SecurityEnabled() {
			const key = "hadoop.security.authentication"
			err = fmt.Errorf("%w, and %s is %s (%s): run kinit, or name a keytab", ErrNoLogin, key, o.Conf.Get(key), o.Conf.SourceOf(key))
		}
		return token, err
	}
}

// shorter is the shorter of two times; one that is not positive means for ever.
func shorter(a, b time.Duration) time.Duration {
	if a <= 0 {
		return b
	}
	return min(a, b)
}
