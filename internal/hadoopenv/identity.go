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
	// proxyUserVariable names who to act for (UserGroupInformation).
	proxyUserVariable = "HADOOP_PROXY_USER"
	krb5Variable      = "KRB5_CONFIG"
)

// ErrNoLogin says that a cluster wants Kerberos, and that the process has neither a login nor
// a token.
var ErrNoLogin = errors.New("the cluster wants Kerberos, and there is no login")

// Identity is who a process is on its cluster, and how it proves that.
type Identity struct {
	// User is the short name of who acts: files and applications are this user's.
	User string
	// RealUser is the short name of who acts for User, if somebody else
	// (hadoop.proxyuser.*).
	RealUser string
	// Login logs in with Kerberos. Nil on open clusters, and where tokens have to do.
	Login *kerberos.Login
	// Credentials are those of the file that HADOOP_TOKEN_FILE_LOCATION names, empty
	// where it names none, or one of another user's tokens beside a Login.
	Credentials *creds.Credentials
}

// Identify tells who the process is: the principal of the keytab that options name
// (security.kerberos.login.*), else of the ticket that kinit got, else the owner of the
// tokens; on an open cluster Environment.User. Who acts for somebody else is told by
// security.proxy-user or HADOOP_PROXY_USER.
//
// Servers take tokens before tickets, and for their owner's. So those of somebody else,
// who may be the one who acts for the user, are left out where there is a login: neither
// would the user be who acts, nor should the user's applications get them.
func (e Environment) Identify(getenv func(string) string, options config.Config) (Identity, error) {
	who := Identity{User: e.User, Credentials: creds.New()}
	if file := getenv(creds.FileVariable); file != "" {
		var err error
		if who.Credentials, err = creds.ReadFile(file); err != nil {
			return who, fmt.Errorf("read tokens of %s: %w", creds.FileVariable, err)
		}
	}
	bearer := "" // whose tokens these are; "" where nothing tells
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

// identifySecure tells who logs in, and whose the tokens are.
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
	bearer = owner // of whom the cluster may not know
	if short, err := names.Short(owner); err == nil {
		bearer = short
	}
	return bearer, nil
}

// KerberosConfig reads the krb5.conf that security.kerberos.krb5-conf.path names, else
// KRB5_CONFIG, else the system's.
func KerberosConfig(getenv func(string) string, options config.Config) (*kerberos.Config, error) {
	path := options.String(config.Krb5ConfPath)
	return kerberos.LoadConfig(func(name string) string {
		if name == krb5Variable && path != "" {
			return path
		}
		return getenv(name)
	})
}

// logIn makes the login that the options ask for. There need not be one where there are
// tokens: nil then.
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
		return nil, nil // a cache that somebody has laid here must not keep the tokens from serving
	}
	return nil, fmt.Errorf("%w: %w; or name a keytab (%s)", ErrNoLogin, err, config.KerberosKeytab)
}

// owner is the principal whose tokens these are; empty where none of them tells.
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

// Show tells a connection's auth who speaks on it, and how to log in; tokens are the
// caller's to fill in.
func (i Identity) Show(auth *yarnrpc.Auth) {
	auth.User = yarnrpc.UserInformation{Effective: i.User, Real: i.RealUser}
	auth.Login = i.Kerberos()
}

// Kerberos is the Login for options that take any: nil where there is none.
func (i Identity) Kerberos() yarnrpc.Login {
	if i.Login == nil {
		return nil
	}
	return i.Login
}
