package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

const (
	// soon is how long a ticket should last that is not renewed.
	soon = time.Hour
	// drift is by how much clocks may differ before somebody should look at them.
	drift = time.Minute
)

// checkKrb5 reads krb5.conf.
func (v *visit) checkKrb5(context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	files := cmp.Or(v.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	c, err := kerberos.LoadConfig(v.Getenv)
	_, unread := errors.AsType[*kerberos.ConfigError](err) // such as a file that is included and not there
	switch {
	case errors.Is(err, fs.ErrNotExist) && !unread:
		return []Finding{failed("there is no "+files, "install the realm's krb5.conf there, or name it with KRB5_CONFIG")}
	case err != nil:
		return []Finding{failed(oneLine(err), "correct that place, or name another file with KRB5_CONFIG")}
	}
	v.krb5 = c
	if c.LibDefaults.DefaultRealm == "" {
		return []Finding{warning(files+" has no default realm: names without a realm mean nothing", "set default_realm in [libdefaults]")}
	}
	return []Finding{ok(files + ": the default realm is " + c.LibDefaults.DefaultRealm)}
}

// checkCredentials looks at what would be logged in with, without asking anybody.
func (v *visit) checkCredentials(context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	var findings []Finding
	if v.Keytab != "" {
		findings = v.checkKeytab()
	} else {
		findings = v.checkCache()
	}
	if v.login == nil {
		return findings
	}
	return append(findings, v.checkUser())
}

func (v *visit) checkKeytab() []Finding {
	keytab, err := kerberos.ReadKeytab(v.Keytab)
	if err != nil {
		return []Finding{failed(oneLine(err), "name the keytab by --keytab; kadmin's ktadd makes one, or ktpass on Active Directory")}
	}
	login, err := kerberos.FromKeytab(v.krb5, v.Principal, v.Keytab)
	if err != nil {
		return []Finding{failed(oneLine(err), "name by --principal who has keys in it: "+join(keytab.Principals()))}
	}
	v.login = login
	var keys []string
	for _, entry := range keytab.Entries() {
		if entry.Principal == login.Principal() {
			keys = append(keys, fmt.Sprintf("%s (version %d)", kerberos.EnctypeName(entry.Enctype), entry.KVNO))
		}
	}
	findings := []Finding{ok(fmt.Sprintf("keytab %s has keys of %s: %s", v.Keytab, login.Principal(), strings.Join(keys, ", ")))}
	if state, err := os.Stat(v.Keytab); err == nil && state.Mode().Perm()&0o077 != 0 {
		findings = append(findings, warning(fmt.Sprintf("others can read or write the keytab: its mode is %#o", state.Mode().Perm()), "chmod 600 "+v.Keytab))
	}
	return findings
}

func (v *visit) checkCache() []Finding {
	path, err := kerberos.FindCache(v.Getenv, v.krb5)
	if unreachable, is := errors.AsType[*kerberos.CacheTypeError](err); is {
		return []Finding{failed(
			fmt.Sprintf("the tickets are in %s (%s): only files can be read", unreachable.Name, unreachable.Source),
			fmt.Sprintf("set KRB5CCNAME=FILE:/tmp/krb5cc_%d, and run kinit", os.Getuid()))}
	}
	if err != nil {
		return []Finding{failed(oneLine(err), "set KRB5CCNAME, and run kinit")}
	}
	cache, err := kerberos.ReadCache(path)
	if errors.Is(err, kerberos.ErrNoTicket) {
		return []Finding{failed("there is no ticket in "+path, "run kinit; KRB5CCNAME names another file, --keytab logs in without")}
	}
	if err != nil {
		return []Finding{failed(oneLine(err), "run kinit")}
	}
	now, who, ticket := v.Now(), cache.Principal.String(), cache.TGT
	switch {
	case !now.Before(ticket.End):
		return []Finding{failed(fmt.Sprintf("the ticket of %s in %s has expired %s ago, at %s", who, path, rounded(now.Sub(ticket.End)), moment(ticket.End)), "run kinit "+who)}
	case now.Before(ticket.Start.Add(-v.krb5.LibDefaults.Clockskew)): // a KDC's clock may be ahead
		return []Finding{failed(fmt.Sprintf("the ticket of %s in %s is valid from %s on, which is yet to come", who, path, moment(ticket.Start)), "set this machine's clock")}
	}
	if v.login, err = kerberos.FromCache(v.krb5, path); err != nil {
		return []Finding{failed(oneLine(err), "run kinit "+who)}
	}
	text := fmt.Sprintf("%s has a ticket of %s (%s) until %s, for %s", path, who, kerberos.EnctypeName(ticket.Enctype), moment(ticket.End), rounded(ticket.End.Sub(now)))
	if ticket.RenewTill.After(ticket.End) {
		return []Finding{ok(fmt.Sprintf("%s; it can be renewed until %s", text, moment(ticket.RenewTill)))}
	}
	if ticket.End.Sub(now) < soon {
		return []Finding{warning(text+", and it cannot be renewed", "run kinit "+who)}
	}
	return []Finding{ok(text)}
}

// checkUser tells who the principal is on the cluster.
func (v *visit) checkUser() Finding {
	who := v.login.Principal()
	v.user = who.Service
	names, err := v.conf.ShortNames(v.krb5.LibDefaults.DefaultRealm)
	if err == nil {
		v.user, err = names.Short(who.String())
	}
	if err != nil {
		v.user = who.Service
		return warning(oneLine(err), "the servers' rules count: ask the administrator for hadoop.security.auth_to_local of core-site.xml")
	}
	return ok(fmt.Sprintf("on the cluster, %s is user %s (hadoop.security.auth_to_local)", who, v.user))
}

// checkKDCs asks the KDCs of the realm for the time.
func (v *visit) checkKDCs(ctx context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	who := kerberos.Principal{Service: "nobody"} // who it is does not matter
	if v.login != nil {
		who = v.login.Principal()
	}
	realm := cmp.Or(who.Realm, v.krb5.LibDefaults.DefaultRealm)
	if realm == "" {
		return skipped("neither the credentials nor krb5.conf name a realm")
	}
	kdcs, err := v.krb5.Probe(ctx, who)
	if err != nil {
		return []Finding{failed(oneLine(err), "set kdc of "+realm+" in [realms] of krb5.conf, or have DNS name it (_kerberos._tcp."+strings.ToLower(realm)+")")}
	}
	answered := false
	for _, kdc := range kdcs {
		answered = answered || kdc.Err == nil
	}
	var findings []Finding
	for _, kdc := range kdcs {
		f := v.judgeClock(kdc)
		if kdc.Err != nil {
			f = failed(fmt.Sprintf("KDC %s of %s does not answer: %s", kdc.Address, realm, cause(kdc.Err)),
				"have it started, correct its address ([realms] of krb5.conf), or have the firewall opened for TCP")
			if answered {
				f.Status = Warning
			}
		}
		findings = append(findings, f)
	}
	return findings
}

// judgeClock compares a KDC's clock with this machine's.
func (v *visit) judgeClock(kdc kerberos.KDC) Finding {
	ahead, limit := kdc.Ahead(), v.krb5.LibDefaults.Clockskew
	text := fmt.Sprintf("KDC %s answers; its clock and this machine's differ by %s", kdc.Address, rounded(ahead))
	if ahead.Abs() < drift {
		return ok(text)
	}
	direction := "behind"
	if ahead > 0 {
		direction = "ahead of"
	}
	text = fmt.Sprintf("the clock of KDC %s is %s %s this machine's; %s are allowed", kdc.Address, rounded(ahead), direction, rounded(limit))
	const remedy = "set this machine's clock, and keep it by NTP (chronyc makestep)"
	if ahead.Abs() > limit {
		return failed(text, remedy)
	}
	return warning(text, remedy)
}

// checkLogin gets a ticket: nothing less shows that the credentials are good.
func (v *visit) checkLogin(ctx context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	who := v.login.Principal()
	if _, err := v.login.Ticket(ctx, "krbtgt/"+who.Realm+"@"+who.Realm); err != nil {
		return []Finding{failed(fmt.Sprintf("%s cannot log in: %s", who, cause(err)), v.remedy(err))}
	}
	return []Finding{ok("the KDC takes " + who.String() + " and gives tickets")}
}

func join[T fmt.Stringer](parts []T) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.String()
	}
	return strings.Join(texts, ", ")
}
