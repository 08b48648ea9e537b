package hdfs

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// DialerOptions say how to reach the NameNodes of one authority of hdfs URIs, and their
// DataNodes. FromConf reads them from a Hadoop configuration.
type DialerOptions struct {
	// Addresses are the addresses (host:port) of the only NameNode or of all NameNodes of a
	// nameservice. The Dialer finds the active one.
	Addresses []string
	// RPC holds the user, the login at NameNodes and the options of connections. NewDialer
	// sets its Protocol. Dial and ConnectTimeout also apply to connections to DataNodes.
	RPC yarnrpc.Options
	// Policy bounds the tries of each call to a NameNode. The zero value is one try.
	Policy yarnrpc.Policy
	// DataTransfer is the protection of connections to DataNodes.
	DataTransfer DataTransfer
	// UseDatanodeHostname is the value for the same field of the library's ClientOptions.
	// If true, the library dials DataNodes by their names instead of their addresses
	// (dfs.client.use.datanode.hostname).
	UseDatanodeHostname bool
	// Silence is the time after which a connection to a DataNode ends if no byte has moved;
	// 60 s by default, as dfs.client.socket-timeout. A connection also ends if its reader
	// pauses that long; the reader then opens another one. Negative: no limit.
	Silence time.Duration
	// Observe sees transfers of blocks, at most two for each block and DataNode. The goroutine that reads or writes calls it. It
	// must not block. Nil: nothing does.
	Observe func(Transfer)
}

// FromConf reads the options for the NameNodes of an authority from a Hadoop configuration.
// The authority is a nameservice of dfs.nameservices, or a host with or without a port. The
// NameNodes of a nameservice are in random order, so that clients begin at different ones,
// unless dfs.client.failover.random.order is false. NameNodes of open clusters take user as
// the caller's name. The caller sets the login: RPC.Token, usually from TokenSource, and
// RPC.Login.
func FromConf(conf *hadoopconf.Conf, authority, user string) (DialerOptions, error) {
	var (
		o           DialerOptions
		nameservice bool
		err         error
	)
	if o.Addresses, nameservice, err = conf.NameNodes(authority); err != nil {
		return DialerOptions{}, err
	}
	if nameservice {
		if err := shuffle(o.Addresses, conf, authority); err != nil {
			return DialerOptions{}, err
		}
	}
	if o.RPC, err = yarnrpc.OptionsFrom(conf); err != nil {
		return DialerOptions{}, err
	}
	o.RPC.User.Effective = user
	o.RPC.Server = yarnrpc.ServerFrom(conf, yarnrpc.HDFSClientProtocol)
	if o.Policy, err = yarnrpc.NameNodePolicy(conf, nameservice); err != nil {
		return DialerOptions{}, err
	}
	if o.DataTransfer, err = dataTransferFrom(conf); err != nil {
		return DialerOptions{}, err
	}
	if o.UseDatanodeHostname, err = conf.Bool("dfs.client.use.datanode.hostname"); err != nil {
		return DialerOptions{}, err
	}
	if o.Silence, err = conf.Duration("dfs.client.socket-timeout", time.Millisecond); err != nil {
		return DialerOptions{}, err
	}
	if o.Silence <= 0 {
		o.Silence = -1
	}
	return o, nil
}

// shuffle puts the NameNodes of a nameservice into random order, if the configuration says
// so (AbstractNNFailoverProxyProvider.getRandomOrder). The property with the nameservice at
// its end comes before the property for all nameservices.
func shuffle(addresses []string, conf *hadoopconf.Conf, nameservice string) error {
	property := "dfs.client.failover.random.order"
	if _, isSet, err := conf.Lookup(property + "." + nameservice); err != nil {
		return err
	} else if isSet {
		property += "." + nameservice
	}
	random, err := conf.Bool(property)
	if err != nil || !random {
		return err
	}
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] }) // spreads load; need not be secret
	return nil
}

// TokenService returns the service of tokens for the NameNodes of an authority. Java
// programs find the tokens by the same service. It is that of the nameservice
// (HAUtilClient), or the address of the only NameNode in the form of
// hadoop.security.token.service.use_ip. It may look up a host.
func TokenService(ctx context.Context, conf *hadoopconf.Conf, authority string) (string, error) {
	addresses, nameservice, err := conf.NameNodes(authority)
	if err != nil {
		return "", err
	}
	if nameservice {
		return creds.NameserviceService(authority), nil
	}
	useIP, err := conf.Bool("hadoop.security.token.service.use_ip")
	if err != nil {
		return "", err
	}
	return creds.ServiceOf(ctx, addresses[0], useIP)
}

// TokenSource returns a function for RPC.Token. For each connection, the function calls
// credentials and returns the token for the NameNodes of the authority, so the next
// connection uses new credentials. It returns nil if they hold no token; credentials may
// return nil. It may look up the NameNode until ctx ends (see TokenService).
func TokenSource(conf *hadoopconf.Conf, authority string, credentials func() *creds.Credentials) func(ctx context.Context, address string) (*creds.Token, error) {
	return tokenSource{conf: conf, authority: authority, credentials: credentials}.token
}

type tokenSource struct {
	conf        *hadoopconf.Conf
	authority   string
	credentials func() *creds.Credentials
}

func (s tokenSource) token(ctx context.Context, _ string) (*creds.Token, error) {
	have := s.credentials()
	if have == nil || have.ByKind(creds.KindHDFSDelegation) == nil { // without a token, no look-up of the host
		return nil, nil
	}
	service, err := TokenService(ctx, s.conf, s.authority)
	if err != nil {
		return nil, err
	}
	return have.Select(creds.KindHDFSDelegation, service), nil
}
