package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// DataTransfer is the protection of connections to DataNodes (SaslDataTransferClient). The Dialer
// logs in on each connection. It uses the token of the first operation's block or, if the NameNode
// requires encrypted transfer, a key of the NameNode. The library must not log in itself: leave
// ClientOptions.DataTransferProtection empty. Its own login corrupts data that is read under
// integrity and privacy.
//
// The zero value is for clusters without Kerberos. The Dialer trusts a DataNode with a port below
// 1024 without a login, because only root can listen there. If the NameNode requires encrypted
// transfer (dfs.encrypt.data.transfer), the Dialer logs in at every DataNode, also with the zero
// value and at ports below 1024.
type DataTransfer struct {
	// QOPs are the acceptable qualities of protection, best first (dfs.data.transfer.protection).
	// None: no login at DataNodes. If the NameNode puts a quality into the tokens
	// (dfs.namenode.send.qop.enabled), DataNodes require that one.
	QOPs []sasl.QOP
	// AES offers AES in counter mode to DataNodes, instead of SASL's encryption, for connections
	// with privacy (dfs.encrypt.data.transfer.cipher.suites is AES/CTR/NoPadding). It is fast, but
	// does not protect integrity: an attacker on the network can flip a bit of the file and adapt
	// the block's checksum.
	AES bool
	// AllowSimpleFallback allows transfers without login and protection for blocks without a token,
	// as in open clusters (ipc.client.fallback-to-simple-auth-allowed).
	AllowSimpleFallback bool
}

// dataTransferFrom reads the settings for connections to DataNodes from a Hadoop configuration. It
// ignores dfs.data.transfer.saslproperties.resolver.class, a class that chooses the protection by
// address, because only servers need it. Errors are *hadoopconf.ValueError.
func dataTransferFrom(conf *hadoopconf.Conf) (DataTransfer, error) {
	const protection, resolver = "dfs.data.transfer.protection", "dfs.trustedchannel.resolver.class"
	const suites, aes, sm4 = "dfs.encrypt.data.transfer.cipher.suites", "AES/CTR/NoPadding", "SM4/CTR/NoPadding"
	const trustsNobody = "org.apache.hadoop.hdfs.protocol.datatransfer.TrustedChannelResolver"
	var t DataTransfer
	if class := conf.Get(resolver); class != "" && class != trustsNobody {
		return DataTransfer{}, &hadoopconf.ValueError{
			Name: resolver, Value: class, Source: conf.SourceOf(resolver),
			Want: "no value: this client cannot know which channels a Java class trusts",
		}
	}
	switch suite := conf.Get(suites); suite {
	case aes:
		t.AES = true
	case "", sm4: // a client need not offer SM4: also in Java the suite is only an offer
	default:
		return DataTransfer{}, &hadoopconf.ValueError{
			Name: suites, Value: suite, Source: conf.SourceOf(suites), Want: aes + ", or no value",
		}
	}
	if !conf.SecurityEnabled() {
		return t, nil
	}
	var err error
	if t.AllowSimpleFallback, err = conf.Bool("ipc.client.fallback-to-simple-auth-allowed"); err != nil {
		return DataTransfer{}, err
	}
	value := conf.Get(protection)
	if value == "" {
		return t, nil
	}
	if t.QOPs, err = sasl.ParseProtection(value); err != nil {
		return DataTransfer{}, &hadoopconf.ValueError{
			Name: protection, Value: value, Source: conf.SourceOf(protection),
			Want: "authentication, integrity or privacy, or several separated by commas",
		}
	}
	return t, nil
}

// ErrOtherProtection says that a DataNode closed the connection after the first message. It does
// that if only one of DataNode and client wants a login. If both want a login and have no
// protection in common, the error is sasl.ErrProtection.
var ErrOtherProtection = errors.New("compare its dfs.data.transfer.protection with this client's")

// ErrBlockToken says that a DataNode has refused the token of a block, for example because it has
// expired. Open the file again to get new tokens.
var ErrBlockToken = errors.New("the DataNode refused the token of the block")

// errUnknownKey says that a DataNode does not know the key of a login any more.
var errUnknownKey = errors.New("the DataNode does not know the data encryption key")

// transfer opens the connections of a Dialer to DataNodes.
type transfer struct {
	options   DataTransfer
	rpc       yarnrpc.Caller // of the NameNode
	known     atomic.Bool    // encrypted is known
	encrypted atomic.Bool    // all data transfer is encrypted
	keys      keyRing
}

// newTransfer makes a transfer that gets keys from the NameNode through rpc.
func newTransfer(o DataTransfer, rpc yarnrpc.Caller) *transfer {
	return &transfer{options: o, rpc: rpc, keys: keyRing{fetch: NewNameNode(rpc).newDataEncryptionKey}}
}

// caller returns the Caller for the library's calls. It notes whether all data transfer is
// encrypted, and always tells the library that it is not. Otherwise the library would log in at each
// DataNode itself. Its login corrupts data unless AES is chosen, and fails for good once its key
// has expired.
func (t *transfer) caller(rpc yarnrpc.Caller) yarnrpc.Caller {
	return transferCaller{Caller: rpc, transfer: t}
}

type transferCaller struct {
	yarnrpc.Caller
	transfer *transfer
}

// Call makes a call.
func (c transferCaller) Call(ctx context.Context, method string, request, response proto.Message) error {
	if method != methodServerDefaults {
		return c.Caller.Call(ctx, method, request, response)
	}
	var answer hdfspb.GetServerDefaultsResponseProto
	if err := c.Caller.Call(ctx, method, request, &answer); err != nil {
		return err
	}
	c.transfer.note(&answer)
	if defaults := answer.GetServerDefaults(); defaults != nil {
		defaults.EncryptDataTransfer = proto.Bool(false)
	}
	b, err := proto.Marshal(&answer)
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	return proto.Unmarshal(b, response)
}

const methodServerDefaults = "getServerDefaults"

// learn asks the NameNode whether all transfer is encrypted, unless that is known from the
// library's call.
func (t *transfer) learn(ctx context.Context) error {
	if t.known.Load() {
		return nil
	}
	var answer hdfspb.GetServerDefaultsResponseProto
	if err := t.rpc.Call(ctx, methodServerDefaults, new(hdfspb.GetServerDefaultsRequestProto), &answer); err != nil {
		return fmt.Errorf("ask how data is transferred: %w", err)
	}
	t.note(&answer)
	return nil
}

func (t *transfer) note(answer *hdfspb.GetServerDefaultsResponseProto) {
	t.encrypted.Store(answer.GetServerDefaults().GetEncryptDataTransfer())
	t.known.Store(true)
}

// open returns a connection that is logged in, that will log in with its first operation, or that
// needs no login.
func (t *transfer) open(ctx context.Context, address string, dial func() (net.Conn, error)) (*blockConn, error) {
	if t.encrypted.Load() {
		opened, err := t.openEncrypted(ctx, address, dial)
		if err != nil {
			return nil, err
		}
		return newBlockConn(opened, address), nil
	}
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	if len(t.options.QOPs) > 0 && !privileged(address) {
		return newBlockConn(&tokenConn{Conn: conn, options: t.options}, address), nil
	}
	c := newBlockConn(conn, address)
	c.noLogin = true
	return c, nil
}

// openEncrypted logs in with the NameNode's key. If the DataNode does not know that key, it logs in
// once more with a new one.
func (t *transfer) openEncrypted(ctx context.Context, address string, dial func() (net.Conn, error)) (net.Conn, error) {
	for renewed := false; ; renewed = true {
		key, err := t.keys.get(ctx)
		if err != nil {
			return nil, fmt.Errorf("log in at DataNode %s: %w", address, err)
		}
		conn, err := dial()
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		login := key.login()
		login.aes = t.options.AES
		opened, err := login.run(conn)
		if !stop() { // the connection is closed, or about to be
			return nil, context.Cause(ctx)
		}
		if err == nil {
			return opened, nil
		}
		conn.Close()
		if renewed || !errors.Is(err, errUnknownKey) {
			return nil, fmt.Errorf("log in at DataNode %s: %w", address, err)
		}
		t.keys.forget(key)
	}
}

// privileged reports whether only root can listen on a port (SecurityUtil.isPrivilegedPort).
func privileged(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n < 1024
}

// tokenConn is a connection that logs in with the block token of its first operation. A reader and
// a writer may use it at once. A failed login is final.
type tokenConn struct {
	net.Conn // as dialled
	options  DataTransfer

	mu        sync.Mutex // guards what follows; held during the login, so that a Read waits for it
	operation []byte     // the written part of the first operation
	opened    net.Conn   // nil before the login
	failed    error
}

// Write sends b. Before the login it keeps b. When the first operation is complete, it logs in and
// sends what it has kept.
func (c *tokenConn) Write(b []byte) (int, error) {
	opened, err := c.begin(b)
	if opened == nil { // b was kept or sent, or the login has failed
		if err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return opened.Write(b)
}

// begin collects what is written before the login. After the login it returns the connection to
// write to.
func (c *tokenConn) begin(b []byte) (opened net.Conn, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened != nil || c.failed != nil {
		return c.opened, c.failed
	}
	c.operation = append(c.operation, b...)
	complete, err := c.logIn()
	if err != nil {
		c.failed = err
		c.Conn.Close()
		return nil, err
	}
	if complete {
		c.operation = nil
	}
	return nil, nil
}

// logIn logs in and sends the operation, if the operation is complete.
func (c *tokenConn) logIn() (complete bool, err error) {
	shown, err := access(c.operation)
	if err != nil || shown == nil {
		return false, err
	}
	opened := c.Conn
	switch {
	case len(shown.token.Identifier) > 0:
		holder, told := shown.holder()
		login := transferLogin{
			user: sasl.EncodeCredential(shown.token.Identifier), secret: shown.token.Password,
			qops: c.options.QOPs, aes: c.options.AES,
			told: told, pool: shown.pool,
		}
		if opened, err = login.run(c.Conn); err != nil {
			return false, fmt.Errorf("log in with a block token of user %q: %w", holder, err)
		}
	case !c.options.AllowSimpleFallback:
		return false, errors.New("log in: the NameNode gave no token for the block, as in an open cluster (see ipc.client.fallback-to-simple-auth-allowed)")
	}
	if _, err := opened.Write(c.operation); err != nil {
		return false, err
	}
	c.opened = opened
	return true, nil
}

// Read reads what the DataNode sends after the login.
func (c *tokenConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	opened, err := c.opened, c.failed
	c.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case opened == nil:
		return 0, errors.New("no operation was sent")
	}
	return opened.Read(b)
}
