package kerberos

// FromEnvironment logs in as other programs of this machine's user do, with the ticket
// of kinit (UserGroupInformation.getLoginUser). It calls LoadConfig and FindCache with
// getenv, which is usually os.Getenv, and then FromCache.
func FromEnvironment(getenv func(string) string) (*Login, error) {
	conf, err := LoadConfig(getenv)
	if err != nil {
		return nil, err
	}
	path, err := FindCache(getenv, conf)
	if err != nil {
		return nil, err
	}
	return FromCache(conf, path)
}

// DefaultRealm returns the realm of names without one ([libdefaults] default_realm).
// It is empty if krb5.conf has none.
func (l *Login) DefaultRealm() string { return l.conf.LibDefaults.DefaultRealm }
