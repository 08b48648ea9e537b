package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// soon is the least remaining life of a ticket that cannot be renewed.
const soon = time.Hour

// checkCredentials checks the credentials of the login without asking a server.
func (v *visit) checkCredentials(context.Context) []Finding {
	who, err := v.env.Identify(v.Getenv, v.config)
	findings := v.tokenFile()
	if v.secure() {
		findings = append(findings, v.checkLoginFile(err == nil && who.Login == nil)...)
	}
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Status == Failed }) {
		return findings
	}
	if err != nil {
		return append(findings, failed(oneLine(err), identityRemedy(err)))
	}
	v.who = who
	switch {
	case v.secure() || who.RealUser != "":
		return append(findings, v.checkUser())
	case len(findings) == 0:
		return openCluster()
	}
	return findings
}

// identityRemedy is the remedy if the options do not tell the user.
func identityRemedy(err error) string {
	switch {
	case errors.Is(err, hadoopenv.ErrNoLogin):
		return "run kinit, or name a keytab (" + config.KerberosKeytab.Name() + ")"
	case errors.Is(err, hadoopconf.ErrNoRule):
		return "ask the administrator for hadoop.security.auth_to_local of the servers' core-site.xml"
	default:
		return "see the message; docs/OPTIONS.md has the options"
	}
}

// tokensDo tells whether the user has only tokens, and no login.
func (v *visit) tokensDo() bool { return v.secure() && v.who.Login == nil && v.who.Credentials != nil }

// tokensAlone is the finding of checks about a login if there are only tokens.
func tokensAlone() []Finding { return skipped("there is no login: tokens are used") }

// checkLoginFile checks the keytab or the ticket cache of a login.
func (v *visit) checkLoginFile(tokensAlone bool) []Finding {
	switch {
	case v.config.String(config.KerberosKeytab) != "":
		return v.checkKeytab()
	case tokensAlone:
		return []Finding{ok("there is no ticket: tokens are used")}
	case !v.config.Bool(config.KerberosUseTicketCache):
		return nil // without a login another check fails
	}
	return []Finding{v.checkCache()}
}

func (v *visit) checkKeytab() []Finding {
	path, principal := v.config.String(config.KerberosKeytab), v.config.String(config.KerberosPrincipal)
	keytab, err := kerberos.ReadKeytab(path)
	if err != nil {
		return []Finding{failed(oneLine(err), "name the keytab by --keytab; kadmin's ktadd makes one, or ktpass on Active Directory")}
	}
	remedy := "name one of its principals with --principal: " + join(keytab.Principals())
	if principal == "" {
		return []Finding{failed("no principal is named for keytab "+path, remedy)}
	}
	login, err := kerberos.FromKeytab(v.krb5, principal, path)
	if err != nil {
		return []Finding{failed(oneLine(err), remedy)}
	}
	findings := []Finding{ok(fmt.Sprintf("keytab %s has keys of %s: %s", path, login.Principal(), keytab.KeysOf(login.Principal())))}
	if state, err := os.Stat(path); err == nil && state.Mode().Perm()&0o077 != 0 {
		findings = append(findings, warning(fmt.Sprintf("others can read or write the keytab: its mode is %#o", state.Mode().Perm()), "chmod 600 "+path))
	}
	return findings
}

func (v *visit) checkCache() Finding {
	path, err := kerberos.FindCache(v.Getenv, v.krb5)
	if unreachable, is := errors.AsType[*kerberos.CacheTypeError](err); is {
		return failed(
			fmt.Sprintf("the tickets are in %s (%s), but Bobbin reads only files", unreachable.Name, unreachable.Source),
			fmt.Sprintf("set KRB5CCNAME=FILE:/tmp/krb5cc_%d, and run kinit", os.Getuid()))
	}
	if err != nil {
		return failed(oneLine(err), "set KRB5CCNAME, and run kinit")
	}
	cache, err := kerberos.ReadCache(path)
	if errors.Is(err, kerberos.ErrNoTicket) {
		return failed("there is no ticket in "+path, "run kinit, name another file with KRB5CCNAME, or log in with --keytab")
	}
	if err != nil {
		return failed(oneLine(err), "run kinit")
	}
	now, who, ticket := v.Now(), cache.Principal.String(), cache.TGT
	switch {
	case !now.Before(ticket.End):
		return failed(fmt.Sprintf("the ticket of %s in %s expired %s ago, at %s", who, path, rounded(now.Sub(ticket.End)), moment(ticket.End)), "run kinit "+who)
	case now.Before(ticket.Start.Add(-v.krb5.LibDefaults.Clockskew)): // the KDC's clock may be ahead
		return failed(fmt.Sprintf("the ticket of %s in %s is not valid before %s", who, path, moment(ticket.Start)), "set this machine's clock")
	}
	text := fmt.Sprintf("%s has a ticket of %s (%s) until %s, for %s", path, who, kerberos.EnctypeName(ticket.Enctype), moment(ticket.End), rounded(ticket.End.Sub(now)))
	if ticket.RenewTill.After(ticket.End) {
		return ok(fmt.Sprintf("%s; it can be renewed until %s", text, moment(ticket.RenewTill)))
	}
	if ticket.End.Sub(now) < soon {
		return warning(text+", and it cannot be renewed", "run kinit "+who)
	}
	return ok(text)
}

// checkUser tells the user name on the cluster.
func (v *visit) checkUser() Finding {
	self, acts := v.who.User, ""
	if v.who.RealUser != "" {
		self, acts = v.who.RealUser, ", who acts for "+v.who.User
	}
	switch {
	case !v.secure():
		return ok("on the cluster you are user " + self + acts)
	case v.who.Login == nil:
		return ok("on the cluster, the tokens are user " + self + "'s")
	}
	return ok(fmt.Sprintf("on the cluster, %s is user %s%s (hadoop.security.auth_to_local)", v.who.Login.Principal(), self, acts))
}

func join[T fmt.Stringer](parts []T) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.String()
	}
	return strings.Join(texts, ", ")
}
