package doctor

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// cause is what an error says in its core: findings name server and call themselves.
func cause(err error) string {
	if remote, is := errors.AsType[*yarnrpc.RemoteError](err); is {
		return remote.Class[strings.LastIndex(remote.Class, ".")+1:] + ": " + oneLine(errors.New(remote.Message))
	}
	if call, is := errors.AsType[*yarnrpc.CallError](err); is {
		err = call.Err
	}
	if dial, is := errors.AsType[*net.OpError](err); is && dial.Op == "dial" {
		err = dial.Err
	}
	return oneLine(err)
}

// helps is a row of the table of remedies.
type helps struct {
	against error
	remedy  string
}

// remedies is what helps against errors of logins and calls. The first row that an
// error is of counts.
func remedies() []helps {
	return []helps{
		{kerberos.ErrNoTicket, "run kinit"},
		{kerberos.ErrExpired, "run kinit"},
		{kerberos.ErrClockSkew, "set this machine's clock, and keep it by NTP (chronyc makestep)"},
		{kerberos.ErrUnknownClient, "is the principal, and its realm, spelt as in the KDC?"},
		{kerberos.ErrWrongKey, "the keys were changed since: export the keytab anew"},
		{kerberos.ErrLocked, "ask the administrator of the realm to unlock the account"},
		{kerberos.ErrUnknownService, "is the server's host spelt as in its principal? See [domain_realm] of krb5.conf"},
		{kerberos.ErrKDC, "is the KDC up, and its address in krb5.conf right?"},
		{sasl.ErrProtection, "set hadoop.rpc.protection in core-site.xml to what the server has"},
		{sasl.ErrEncryptionType, "ask for AES keys of the server's account"},
		{yarnrpc.ErrNoCommonAuth, "set hadoop.security.authentication in core-site.xml to what the server has"},
		{yarnrpc.ErrSASL, "the server does not take the ticket: its keytab or its clock may be wrong, its log says which"},
		{yarnrpc.ErrAccessControl, "ask for access (hadoop-policy.xml there); or hadoop.security.authentication is not the server's"},
		{yarnrpc.ErrNoSuchProtocol, "is this the port of another service?"},
		{yarnrpc.ErrVersionMismatch, "is this the port of another service?"},
		{wire.ErrMalformed, "is this the port of another service?"},
		{fs.ErrPermission, "ask for the right"},
		{syscall.ECONNREFUSED, "is the server up, and are host and port right"},
		{yarnrpc.ErrConnectTimeout, "is the server up, is its address right, and does a firewall allow it"},
		{yarnrpc.ErrTimeout, "the server takes connections and does not answer: look at its log"},
		{context.DeadlineExceeded, "the server does not answer: look at its log"},
	}
}

// remedy is what helps against an error.
func (v *visit) remedy(err error) string {
	if _, is := errors.AsType[*kerberos.ServerMismatchError](err); is {
		return "correct the server's principal in the Hadoop configuration; if names are to blame, see above"
	}
	if _, is := errors.AsType[*wire.FrameError](err); is {
		return "name the port of its RPC"
	}
	for _, r := range remedies() {
		if errors.Is(err, r.against) {
			return r.remedy
		}
	}
	if _, is := errors.AsType[*net.DNSError](err); is {
		return "correct the name, or have DNS or /etc/hosts know it"
	}
	return "the server's log may say more"
}
