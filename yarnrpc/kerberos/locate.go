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

// lookup is net.Resolver's LookupSRV. Its answers are in the order of RFC 2782: by
// priority and, within one priority, at random by weight.
type lookup func(ctx context.Context, service, proto, name string) (cname string, records []*net.SRV, err error)

// errNoRecords says that neither krb5.conf nor DNS has KDCs of a realm.
var errNoRecords = errors.New("krb5.conf has no kdc for it, and DNS has no _kerberos records")

// locate returns the KDCs of a realm, host:port each, in the order in which to ask them.
// Those of krb5.conf are in random order. Without them, it asks DNS.
func (c *Config) locate(ctx context.Context, realm string) ([]string, error) {
	var found []string
	for _, r := range c.Realms {
		if r.Realm == realm && len(r.KDC) > 0 {
			found = slices.Clone(r.KDC)
		}
	}
	if len(found) > 0 {
		rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] }) // spreads load; need not be secret
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

// locateByDNS asks for the records of RFC 4120 §7.2.3.2. If there are no _tcp records, it
// uses the _udp records, because every KDC speaks TCP.
func (c *Config) locateByDNS(ctx context.Context, realm string) ([]string, error) {
	ask := c.lookup
	if ask == nil {
		ask = resolveWith(new(net.Dialer).DialContext).LookupSRV
	}
	domain := strings.TrimSuffix(realm, ".") + "." // with the final dot, the search list is not used
	var failed []error
	for _, proto := range []string{"tcp", "udp"} {
		_, records, err := ask(ctx, "kerberos", proto, domain)
		if unknown, is := errors.AsType[*net.DNSError](err); err != nil && !(is && unknown.IsNotFound) {
			failed = append(failed, errors.New(err.Error())) // only its text: the caller could take its type for an error about the service's name, or for its own timeout
		}
		var found []string
		for _, r := range records {
			if target := strings.TrimSuffix(r.Target, "."); isHost(target) && r.Port > 0 { // "." means none
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

// isHost reports whether a text is a host name. A forged DNS answer can hold other texts,
// which would get into addresses and errors.
func isHost(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) < 0
}

// resolveWith returns a resolver whose look-up ends with the caller's context. Go's resolver
// alone waits for a name server as long as resolv.conf says.
func resolveWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() }) // the context is that of one question: it ends with the answer
		}
		return conn, err
	}}
}
