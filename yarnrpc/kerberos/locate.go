package kerberos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
)

// lookup is net.Resolver's LookupSRV: its answers are in the order of RFC 2782, by
// priority, and at random by weight within one.
type lookup func(ctx context.Context, service, proto, name string) (cname string, records []*net.SRV, err error)

// errNoRecords is a realm that neither krb5.conf nor DNS says the KDCs of.
var errNoRecords = errors.New("krb5.conf has no kdc for it, and DNS has no _kerberos records")

// locate gives the KDCs of a realm, host:port each, in the order in which to ask them:
// those of krb5.conf in any, or else those that DNS knows.
func (c *Config) locate(ctx context.Context, realm string) ([]string, error) {
	var found []string
	for _, r := range c.Realms {
		if r.Realm == realm && len(r.KDC) > 0 {
			found = slices.Clone(r.KDC)
		}
	}
	if len(found) > 0 {
		rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] }) // spreads load, hides nothing
		return found, nil
	}
	if !c.LibDefaults.DNSLookupKDC {
		return nil, fmt.Errorf("%w: realm %s: krb5.conf has no kdc for it, and dns_lookup_kdc is false", ErrKDC, realm)
	}
	within, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	found, err := c.locateByDNS(within, realm)
	if err := ended(ctx); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: realm %s: %w", ErrKDC, realm, err)
	}
	return found, nil
}

// locateByDNS asks for the records of RFC 4120 §7.2.3.2. Every KDC speaks TCP, those of
// _udp, too, where there are no others.
func (c *Config) locateByDNS(ctx context.Context, realm string) ([]string, error) {
	ask := c.lookup
	if ask == nil {
		ask = resolveWith(new(net.Dialer).DialContext).LookupSRV
	}
	domain := strings.TrimSuffix(realm, ".") + "." // of the root: no search list
	var failed []error
	for _, proto := range []string{"tcp", "udp"} {
		_, records, err := ask(ctx, "kerberos", proto, domain)
		if unknown, is := errors.AsType[*net.DNSError](err); err != nil && !(is && unknown.IsNotFound) {
			failed = append(failed, errors.New(err.Error())) // as text: who calls could take it for the service's own name, or time
		}
		var found []string
		for _, r := range records {
			if target := strings.TrimSuffix(r.Target, "."); isHost(target) && r.Port > 0 { // "." says that there is none
				found = append(found, net.JoinHostPort(target, strconv.Itoa(int(r.Port))))
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	return nil, errNoRecords
}

// isHost tells whether a name is one of a host: anybody who answers for DNS can give others, which would stand in addresses
// and in errors.
func isHost(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) < 0
}

// resolveWith is a resolver that gives up when its caller does: by itself, it waits for a
// name server for as long as resolv.conf says.
func resolveWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() }) // the context is that of one question: it ends with the answer
		}
		return conn, err
	}}
}
