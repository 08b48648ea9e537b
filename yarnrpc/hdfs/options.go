package hdfs

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// DialerOptions say how the NameNodes of one authority of hdfs URIs are reached, and
// the DataNodes behind them; FromConf fills in what a Hadoop configuration says.
type DialerOptions struct {
	// Addresses are those of the NameNodes, host:port each: of the only one, or of all
	// of a nameservice. The active one is found.
	Addresses []string
	// RPC says who the user is, how to log in at NameNodes, and how connections
	// behave. NewDialer sets the protocol. Dial and ConnectTimeout are for
	// connections to DataNodes, too.
	RPC yarnrpc.Options
	// Policy bounds the tries of each call to a NameNode. The zero value is one try.
	Policy yarnrpc.Policy
	// DataTransfer is how connections to DataNodes are protected.
	DataTransfer DataTransfer
	// UseDatanodeHostname is for the field of that name of the library's
	// ClientOptions: DataNodes are dialled by the names, not the addresses, that the
	// NameNode knows them by (dfs.client.use.datanode.hostname).
	UseDatanodeHostname bool
	// Silence ends a connection to a DataNode over which no byte has moved for so
	// long; 60 s by default, as dfs.client.socket-timeout. One whose consumer pauses is
	// ended, too, and is then opened anew. Negative: none is ended.
	Silence time.Duration
}

// FromConf takes from a Hadoop configuration how the NameNodes of an authority are
// reached: a nameservice of dfs.nameservices, or a host with or without a port. The
// NameNodes of a nameservice are in an order of chance, so that not all clients begin at
// the same one, unless dfs.client.failover.random.order is false. user is told to
// NameNodes that trust their clients. A login is the caller's to fill in:
// RPC.Token, for which TokenSource is made, and RPC.Login.
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

// shuffle brings the NameNodes of a nameservice into an order of chance, if the
// configuration is for that (AbstractNNFailoverProxyProvider.getRandomOrder): with the name
// of the nameservice at the end of the property, or else for all of them.
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
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] }) // spreads load, hides nothing
	return nil
}

// TokenService is the service of tokens for the NameNodes of an authority, by which
// Java programs find them, too: that of the nameservice (HAUtilClient), or the address
// of the only NameNode, as hadoop.security.token.service.use_ip has it. It may look a
// host up.
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

// TokenSource gives the token for the NameNodes of an authority from credentials that
// it asks for with each connection, so that new ones serve from the next connection
// on; nil where they hold none. It is for RPC.Token. Nil credentials are allowed. It may
// look the NameNode up, for as long as ctx goes on (see TokenService).
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
	if have == nil || have.ByKind(creds.KindHDFSDelegation) == nil { // spares the look-up
		return nil, nil
	}
	service, err := TokenService(ctx, s.conf, s.authority)
	if err != nil {
		return nil, err
	}
	return have.Select(creds.KindHDFSDelegation, service), nil
}
