package kerberos

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
)

// defaultConfigFile is the place of krb5.conf in all Linux distributions.
const defaultConfigFile = "/etc/krb5.conf"

// Config is a krb5.conf: gokrb5's form of it, and the settings that gokrb5 does not have.
type Config struct {
	*config.Config
	// CacheName is default_ccache_name as it is written, with %{uid} and similar. It is "" if no
	// file sets it. FindCache resolves it.
	CacheName string

	lookup lookup // nil: the name servers of this machine
}

// LoadConfig reads the files that KRB5_CONFIG lists, separated by ":", or /etc/krb5.conf. It
// skips missing files of a list if at least one file exists. An earlier file wins over a later
// one, as in MIT's library. The error is fs.ErrNotExist if no file exists, and a *ConfigError if
// a file cannot be read.
//
// The rules for clients are MIT's (krb5.conf(5)). include and includedir may stand anywhere.
// Sections of the same name are merged. Later files of the list add nothing to a section or tag
// that has a final marker (*). The first of several values counts. LoadConfig skips sections,
// tags and words that it does not know. It is an error if a duration is malformed or gokrb5
// supports none of the listed encryption types. If a realm has no kdc in the files, a login
// looks for its KDCs in DNS, unless dns_lookup_kdc is false.
func LoadConfig(getenv func(string) string) (*Config, error) {
	list := getenv("KRB5_CONFIG")
	remedy := "set KRB5_CONFIG to the realm's krb5.conf"
	if list == "" {
		list = defaultConfigFile
		remedy = "install the realm's krb5.conf there, or set KRB5_CONFIG to it"
	}
	reader := &profileReader{fsys: os.DirFS("/")}
	for name := range strings.SplitSeq(list, ":") {
		if name == "" {
			continue
		}
		name, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("read Kerberos configuration: %w", err)
		}
		reader.list++
		err = reader.read(name, 0)
		if absent(err, name) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read Kerberos configuration: %w", err)
		}
	}
	if reader.files == 0 {
		return nil, fmt.Errorf("read Kerberos configuration: %s: %w; %s", list, fs.ErrNotExist, remedy)
	}
	return reader.config()
}

// ParseConfig reads the text of a krb5.conf as LoadConfig does. name is the file's name in
// errors. Included files are read from this machine.
func ParseConfig(name string, text []byte) (*Config, error) {
	return parseConfig(os.DirFS("/"), name, text)
}

func parseConfig(fsys fs.FS, name string, text []byte) (*Config, error) {
	reader := &profileReader{fsys: fsys, list: 1}
	if len(text) > maxConfigBytes {
		return nil, &ConfigError{File: name, Err: fmt.Errorf("larger than %d bytes", maxConfigBytes)}
	}
	if err := reader.parse(name, text, 0); err != nil {
		return nil, fmt.Errorf("read Kerberos configuration: %w", err)
	}
	return reader.config()
}

// config converts the relations into gokrb5's form. It uses MIT's defaults where gokrb5 has
// others.
func (r *profileReader) config() (*Config, error) {
	c := &Config{Config: config.New()}
	c.LibDefaults.DNSLookupKDC = true
	libdefaults := r.root.sub("libdefaults")
	if err := readLibDefaults(libdefaults, &c.LibDefaults); err != nil {
		return nil, fmt.Errorf("read Kerberos configuration: %w", err)
	}
	if name := libdefaults.first("default_ccache_name"); name != nil {
		c.CacheName = name.value
	}
	if realms := r.root.sub("realms"); realms != nil {
		for _, realm := range realms.children {
			if realm.section {
				c.Realms = append(c.Realms, readRealm(realm))
			}
		}
	}
	readDomains(r.root.sub("domain_realm"), c.DomainRealm)
	return c, nil
}

// Clone returns a copy that shares nothing with the original. Each client of gokrb5 needs its
// own copy, because a client reorders the KDCs of its configuration.
func (c *Config) Clone() *Config {
	d := *c.Config
	for _, ids := range []*[]int32{
		&d.LibDefaults.PermittedEnctypeIDs, &d.LibDefaults.DefaultTktEnctypeIDs, &d.LibDefaults.DefaultTGSEnctypeIDs,
	} {
		*ids = slices.Clone(*ids)
	}
	for _, names := range []*[]string{
		&d.LibDefaults.PermittedEnctypes, &d.LibDefaults.DefaultTktEnctypes, &d.LibDefaults.DefaultTGSEnctypes,
	} {
		*names = slices.Clone(*names)
	}
	d.LibDefaults.PreferredPreauthTypes = slices.Clone(d.LibDefaults.PreferredPreauthTypes)
	d.LibDefaults.ExtraAddresses = slices.Clone(d.LibDefaults.ExtraAddresses)
	d.Realms = slices.Clone(d.Realms)
	for i := range d.Realms {
		realm := &d.Realms[i]
		realm.KDC = slices.Clone(realm.KDC)
		realm.MasterKDC = slices.Clone(realm.MasterKDC)
		realm.AdminServer = slices.Clone(realm.AdminServer)
		realm.KPasswdServer = slices.Clone(realm.KPasswdServer)
	}
	d.DomainRealm = maps.Clone(d.DomainRealm)
	return &Config{Config: &d, CacheName: c.CacheName, lookup: c.lookup}
}

// RealmOf returns the realm of a host's services: from [domain_realm], or else the default
// realm.
func (c *Config) RealmOf(host string) string {
	return cmp.Or(c.ResolveRealm(strings.ToLower(host)), c.LibDefaults.DefaultRealm)
}
