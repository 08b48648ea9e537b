package kerberos

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
)

// maxUDPPreference is MIT's hard limit on udp_preference_limit.
const maxUDPPreference = 32_700

// setting is a tag of [libdefaults] that a client uses.
type setting struct {
	tag string
	set func(value string) error
}

func readLibDefaults(section *relation, lib *config.LibDefaults) error {
	for _, s := range settings(lib) {
		r := section.first(s.tag)
		if r == nil || r.value == "" {
			continue
		}
		if err := s.set(r.value); err != nil {
			return r.fail(fmt.Errorf("%s: %w", s.tag, err))
		}
	}
	return readEnctypes(section, lib)
}

// settings lists the tags that gokrb5 uses. It leaves out preferred_preauth_types, because
// gokrb5 reads the numbers there as encryption types.
func settings(lib *config.LibDefaults) []setting {
	return []setting{
		{"default_realm", text(&lib.DefaultRealm)},
		{"default_keytab_name", text(&lib.DefaultKeytabName)},
		{"default_client_keytab_name", text(&lib.DefaultClientKeytabName)},
		{"allow_weak_crypto", boolean(&lib.AllowWeakCrypto)},
		{"canonicalize", boolean(&lib.Canonicalize)},
		{"dns_canonicalize_hostname", func(value string) error {
			// with "fallback", the name is first used unchanged
			lib.DNSCanonicalizeHostname = !strings.EqualFold(value, "fallback")
			return boolean(&lib.DNSCanonicalizeHostname)(value)
		}},
		{"dns_lookup_kdc", boolean(&lib.DNSLookupKDC)},
		{"dns_lookup_realm", boolean(&lib.DNSLookupRealm)},
		{"rdns", boolean(&lib.RDNS)},
		{"forwardable", boolean(&lib.Forwardable)},
		{"proxiable", boolean(&lib.Proxiable)},
		{"noaddresses", boolean(&lib.NoAddresses)},
		{"extra_addresses", func(value string) error {
			for _, word := range strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' }) {
				if ip := net.ParseIP(word); ip != nil {
					lib.ExtraAddresses = append(lib.ExtraAddresses, ip)
				}
			}
			return nil
		}},
		{"clockskew", func(value string) (err error) { lib.Clockskew, err = parseDuration(value); return err }},
		{"ticket_lifetime", func(value string) (err error) { lib.TicketLifetime, err = parseDuration(value); return err }},
		{"renew_lifetime", func(value string) (err error) { lib.RenewLifetime, err = parseDuration(value); return err }},
		{"udp_preference_limit", func(value string) error {
			if n, err := strconv.ParseUint(value, 10, 31); err == nil {
				lib.UDPPreferenceLimit = min(int(n), maxUDPPreference)
			}
			return nil
		}},
	}
}

func text(to *string) func(string) error {
	return func(value string) error {
		*to = value
		return nil
	}
}

func boolean(to *bool) func(string) error {
	return func(value string) error {
		if yes, ok := parseBool(value); ok {
			*to = yes
		}
		return nil
	}
}

// readEnctypes reads the three lists. The two lists for requests default to
// permitted_enctypes, and keep only the types of permitted_enctypes, as in MIT's library
// since 1.18.
func readEnctypes(section *relation, lib *config.LibDefaults) error {
	lists := []struct {
		tag   string
		names *[]string
		ids   *[]int32
	}{
		{"permitted_enctypes", &lib.PermittedEnctypes, &lib.PermittedEnctypeIDs},
		{"default_tkt_enctypes", &lib.DefaultTktEnctypes, &lib.DefaultTktEnctypeIDs},
		{"default_tgs_enctypes", &lib.DefaultTGSEnctypes, &lib.DefaultTGSEnctypeIDs},
	}
	permitted := defaultEnctypes()
	for _, list := range lists {
		ids := permitted
		if r := section.first(list.tag); r != nil && r.value != "" {
			if ids = intersect(parseEnctypes(r.value), permitted); len(ids) == 0 {
				return r.fail(fmt.Errorf("%s: none of %q can be used: name one of %s", list.tag, r.value, enctypeNames(permitted)))
			}
		}
		if list.tag == "permitted_enctypes" {
			permitted = ids
		}
		*list.ids = slices.Clone(ids)
		*list.names = strings.Split(enctypeNames(ids), ", ")
	}
	setPreauth(lib)
	return nil
}

// setPreauth makes gokrb5 begin a login with a requested encryption type: gokrb5 uses the
// first of PreferredPreauthTypes.
func setPreauth(lib *config.LibDefaults) {
	lib.PreferredPreauthTypes = nil
	for _, id := range lib.DefaultTktEnctypeIDs {
		lib.PreferredPreauthTypes = append(lib.PreferredPreauthTypes, int(id))
	}
}

// intersect returns the ids that are also in others, in the order of ids.
func intersect(ids, others []int32) (both []int32) {
	for _, id := range ids {
		for _, other := range others {
			if id == other {
				both = append(both, id)
			}
		}
	}
	return both
}
