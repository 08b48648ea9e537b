package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// drift is the difference of clocks from which on the doctor warns.
const drift = time.Minute

// checkKrb5 reads krb5.conf.
func (v *visit) checkKrb5(context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	files := cmp.Or(v.config.String(config.Krb5ConfPath), v.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	c, err := hadoopenv.KerberosConfig(v.Getenv, v.config)
	_, unread := errors.AsType[*kerberos.ConfigError](err) // such as a missing file that another one includes
	switch {
	case errors.Is(err, fs.ErrNotExist) && !unread:
		return []Finding{failed("there is no "+files, "install the realm's krb5.conf there, or name it with KRB5_CONFIG ("+config.Krb5ConfPath.Name()+")")}
	case err != nil:
		return []Finding{failed(oneLine(err), "correct the file, or name another file with KRB5_CONFIG")}
	}
	v.krb5 = c
	if c.LibDefaults.DefaultRealm == "" {
		return []Finding{warning(files+" has no default realm: names without a realm are invalid", "set default_realm in [libdefaults]")}
	}
	return []Finding{ok(files + ": the default realm is " + c.LibDefaults.DefaultRealm)}
}

// checkKDCs asks the realm's KDCs for the time.
func (v *visit) checkKDCs(ctx context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	who := kerberos.Principal{Service: "nobody"} // any name will do
	switch {
	case v.who.Login != nil:
		who = v.who.Login.Principal()
	case v.tokensDo():
		return tokensAlone()
	}
	realm := cmp.Or(who.Realm, v.krb5.LibDefaults.DefaultRealm)
	if realm == "" {
		return skipped("neither the credentials nor krb5.conf name a realm")
	}
	kdcs, err := v.krb5.Probe(ctx, who)
	if err != nil {
		return []Finding{failed(oneLine(err), "set kdc of "+realm+" in [realms] of krb5.conf, or add it to DNS (_kerberos._tcp."+strings.ToLower(realm)+")")}
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
				"start it, correct its address ([realms] of krb5.conf), or open the firewall for TCP")
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
	const remedy = "set this machine's clock, and keep it right with NTP (chronyc makestep)"
	if ahead.Abs() > limit {
		return failed(text, remedy)
	}
	return warning(text, remedy)
}

// checkLogin gets a ticket: only that proves that the credentials are good.
func (v *visit) checkLogin(ctx context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	if v.tokensDo() {
		return tokensAlone()
	}
	who := v.who.Login.Principal()
	if _, err := v.who.Login.Ticket(ctx, "krbtgt/"+who.Realm+"@"+who.Realm); err != nil {
		return []Finding{failed(fmt.Sprintf("%s cannot log in: %s", who, cause(err)), v.remedy(err))}
	}
	return []Finding{ok("the KDC accepts " + who.String() + " and gives tickets")}
}
