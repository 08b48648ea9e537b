package kerberos

// FromEnvironment logs in with the ticket that this user has got from kinit, as Hadoop's
// programs do (UserGroupInformation.getLoginUser). It calls LoadConfig and FindCache with
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

// DefaultRealm returns the realm of principals that name no realm ([libdefaults]
// default_realm). It is empty if krb5.conf does not set it.
func (l *Login) DefaultRealm() string { return l.conf.LibDefaults.DefaultRealm }
