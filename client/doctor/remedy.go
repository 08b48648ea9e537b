package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// cause is the innermost text of an error. Findings name the server and the call themselves.
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

// remedies are the remedies for errors of logins and calls. The first row that matches an error counts.
func remedies() []helps {
	return []helps{
		{kerberos.ErrNoTicket, "run kinit"},
		{kerberos.ErrExpired, "run kinit"},
		{kerberos.ErrClockSkew, "set this machine's clock, and keep it right with NTP (chronyc makestep)"},
		{kerberos.ErrUnknownClient, "spell the principal, and its realm, as the KDC does"},
		{kerberos.ErrWrongKey, "the keys have changed: export the keytab again"},
		{kerberos.ErrLocked, "ask the administrator of the realm to unlock the account"},
		{kerberos.ErrUnknownService, "spell the server's host as its principal does; [domain_realm] of krb5.conf gives its realm"},
		{kerberos.ErrKDC, "start the KDC, or correct its address in krb5.conf"},
		{sasl.ErrProtection, "set hadoop.rpc.protection in core-site.xml to the server's value"},
		{sasl.ErrEncryptionType, "ask the administrator for AES keys of the server's account"},
		{yarnrpc.ErrNoCommonAuth, "set hadoop.security.authentication in core-site.xml to the server's value"},
		{yarnrpc.ErrSASL, "the server rejects the ticket: its keytab or its clock may be wrong, and its log says which"},
		{yarnrpc.ErrInvalidToken, newTokens},
		{yarnrpc.ErrNoLogin, "run kinit, or name a keytab (" + config.KerberosKeytab.Name() + ")"},
		{yarnrpc.ErrAccessControl, "ask the administrator for access (hadoop-policy.xml, hadoop.proxyuser)"},
		{yarnrpc.ErrNoSuchProtocol, "this is the port of another service: correct it"},
		{yarnrpc.ErrVersionMismatch, "this is the port of another service: correct it"},
		{wire.ErrMalformed, "this may be the port of another service: correct it"},
		{fs.ErrPermission, "ask the administrator for the permission"},
		{filesystem.ErrEncryptionZone, "name a directory outside of encryption zones (yarn.staging-directory)"},
		{syscall.ECONNREFUSED, "start the server, or correct its address"},
		{syscall.ECONNRESET, "the server ends connections at once: its log says why"},
		{io.EOF, "the server ends connections at once: its log says why"},
		{yarnrpc.ErrConnectTimeout, "start the server, correct its address, or open the firewall"},
		{yarnrpc.ErrTimeout, "the server accepts connections and does not answer: look at its log"},
		{context.DeadlineExceeded, "the server does not answer: look at its log"},
	}
}

// remedy is the remedy for an error.
func (v *visit) remedy(err error) string {
	if _, is := errors.AsType[*kerberos.ServerMismatchError](err); is {
		return "correct the server's principal in the Hadoop configuration; if names are to blame, see above"
	}
	if _, is := errors.AsType[*wire.FrameError](err); is {
		return "name the server's RPC port"
	}
	if remote, is := errors.AsType[*yarnrpc.RemoteError](err); is && remote.Method == "" && remote.Is(yarnrpc.ErrAccessControl) && !v.secure() {
		return "the server requires a login: set hadoop.security.authentication to kerberos, as the cluster's own core-site.xml does"
	}
	if v.who.RealUser != "" && errors.Is(err, yarnrpc.ErrAccessControl) {
		return fmt.Sprintf("allow %[1]s to act for %[2]s: set hadoop.proxyuser.%[1]s.hosts, with .users or .groups, in the servers' core-site.xml", v.who.RealUser, v.who.User)
	}
	for _, r := range remedies() {
		if errors.Is(err, r.against) {
			return r.remedy
		}
	}
	if _, is := errors.AsType[*net.DNSError](err); is {
		return "correct the name, or add it to DNS or /etc/hosts"
	}
	return "the server's log may say more"
}
