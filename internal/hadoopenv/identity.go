package hadoopenv

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

const (
	// proxyUserVariable names the proxied user (UserGroupInformation).
	proxyUserVariable = "HADOOP_PROXY_USER"
	krb5Variable      = "KRB5_CONFIG"
)

// ErrNoLogin says that a cluster requires Kerberos, and the process has neither a login nor a
// token.
var ErrNoLogin = errors.New("the cluster wants Kerberos, and there is no login")

// Identity is the user of a process on its cluster, and the proof of that.
type Identity struct {
	// User is the short name of the user who owns files and applications.
	User string
	// RealUser is the short name of the user who acts for User; "" if User acts
	// (hadoop.proxyuser.*).
	RealUser string
	// Login logs in with Kerberos. It is nil on open clusters, and if the process has only tokens.
	Login *kerberos.Login
	// Credentials are those of the file in HADOOP_TOKEN_FILE_LOCATION. They are empty if the
	// variable is not set, and if there is a Login and the tokens are another user's.
	Credentials *creds.Credentials
}

// Identify finds the identity of the process. With Kerberos it is the principal of the keytab in
// the options (security.kerberos.login.*), or else of kinit's ticket, or else the owner of the
// tokens. On an open cluster it is Environment.User. security.proxy-user or HADOOP_PROXY_USER names
// a user to act for.
//
// Servers prefer tokens to tickets, and then act for the tokens' owner. So if there is a login,
// Identify drops the tokens of another user, even of the real user. With them servers would act for
// the wrong user, and that user's tokens would go to the user's applications.
func (e Environment) Identify(getenv func(string) string, options config.Config) (Identity, error) {
	who := Identity{User: e.User, Credentials: creds.New()}
	if file := getenv(creds.FileVariable); file != "" {
		var err error
		if who.Credentials, err = creds.ReadFile(file); err != nil {
			return who, fmt.Errorf("read tokens of %s: %w", creds.FileVariable, err)
		}
	}
	bearer := "" // owner of the tokens; "": unknown
	if e.Conf.SecurityEnabled() {
		var err error
		if bearer, err = e.identifySecure(&who, getenv, options); err != nil {
			return who, err
		}
	}
	proxied := cmp.Or(options.String(config.ProxyUser), getenv(proxyUserVariable))
	if proxied != "" && proxied != who.User {
		if e.Conf.SecurityEnabled() && who.Login == nil {
			return who, fmt.Errorf("act as %s: %w: tokens work only for their owner; run kinit, or name a keytab (%s)", proxied, ErrNoLogin, config.KerberosKeytab)
		}
		who.User, who.RealUser = proxied, who.User
	}
	if who.Login != nil && bearer != "" && bearer != who.User {
		who.Credentials = creds.New()
	}
	return who, nil
}

// identifySecure finds the login, and the owner of the tokens.
func (e Environment) identifySecure(who *Identity, getenv func(string) string, options config.Config) (bearer string, err error) {
	conf, err := KerberosConfig(getenv, options)
	if err != nil {
		return "", err
	}
	names, err := e.Conf.ShortNames(conf.LibDefaults.DefaultRealm)
	if err != nil {
		return "", err
	}
	owner, err := owner(who.Credentials)
	if err != nil {
		return "", err
	}
	if who.Login, err = logIn(conf, getenv, options, owner != ""); err != nil {
		return "", err
	}
	principal := owner
	if who.Login != nil {
		principal = who.Login.Principal().String()
	}
	if who.User, err = names.Short(principal); err != nil {
		return "", fmt.Errorf("map %s to a user name: %w", principal, err)
	}
	bearer = owner // the rules may not map this name
	if short, err := names.Short(owner); err == nil {
		bearer = short
	}
	return bearer, nil
}

// KerberosConfig reads the krb5.conf in security.kerberos.krb5-conf.path, or else in KRB5_CONFIG,
// or else the system's.
func KerberosConfig(getenv func(string) string, options config.Config) (*kerberos.Config, error) {
	path := options.String(config.Krb5ConfPath)
	return kerberos.LoadConfig(func(name string) string {
		if name == krb5Variable && path != "" {
			return path
		}
		return getenv(name)
	})
}

// logIn makes the login that the options ask for. It returns nil if there is none but there are
// tokens.
func logIn(conf *kerberos.Config, getenv func(string) string, options config.Config, tokens bool) (*kerberos.Login, error) {
	keytab, principal := options.String(config.KerberosKeytab), options.String(config.KerberosPrincipal)
	switch {
	case keytab != "" && principal != "":
		return kerberos.FromKeytab(conf, principal, keytab)
	case keytab != "":
		return nil, fmt.Errorf("log in with keytab %s: name the principal whose key to use (%s)", keytab, config.KerberosPrincipal)
	case principal != "":
		return nil, fmt.Errorf("log in as %s: name the keytab that holds its key (%s)", principal, config.KerberosKeytab)
	case !options.Bool(config.KerberosUseTicketCache) && tokens:
		return nil, nil
	case !options.Bool(config.KerberosUseTicketCache):
		return nil, fmt.Errorf("%w: name a keytab (%s), or allow kinit's ticket (%s)", ErrNoLogin, config.KerberosKeytab, config.KerberosUseTicketCache)
	}
	path, err := kerberos.FindCache(getenv, conf)
	if err == nil {
		var login *kerberos.Login
		if login, err = kerberos.FromCache(conf, path); err == nil {
			return login, nil
		}
	}
	if tokens && (errors.Is(err, kerberos.ErrNoTicket) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, secretfile.ErrExposed)) {
		return nil, nil // a cache that another user placed here must not make the tokens unusable
	}
	return nil, fmt.Errorf("%w: %w; or name a keytab (%s)", ErrNoLogin, err, config.KerberosKeytab)
}

// owner returns the principal that owns the tokens; "" if no token names it.
func owner(credentials *creds.Credentials) (string, error) {
	for _, kind := range []string{creds.KindHDFSDelegation, creds.KindRMDelegation} {
		token := credentials.ByKind(kind)
		if token == nil {
			continue
		}
		about, err := identifier.DecodeDelegation(token)
		if err != nil {
			return "", fmt.Errorf("read tokens of %s: %w", creds.FileVariable, err)
		}
		return about.Owner, nil
	}
	return "", nil
}

// Show sets the user and the login of a connection's auth. The caller sets the tokens.
func (i Identity) Show(auth *yarnrpc.Auth) {
	auth.User = yarnrpc.UserInformation{Effective: i.User, Real: i.RealUser}
	auth.Login = i.Kerberos()
}

// Kerberos returns the Login, as an interface that is nil if there is none.
func (i Identity) Kerberos() yarnrpc.Login {
	if i.Login == nil {
		return nil
	}
	return i.Login
}
