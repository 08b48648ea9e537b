package kerberos

// FromEnvironment logs in as other programs of this machine's user do, with the ticket
// that kinit got: LoadConfig and FindCache say where getenv, mostly os.Getenv, has
// them looked for, FromCache what becomes of it (UserGroupInformation.getLoginUser).
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

// DefaultRealm is the realm of names without one ([libdefaults] default_realm), empty
// where krb5.conf has none.
func (l *Login) DefaultRealm() string { return l.conf.LibDefaults.DefaultRealm }
