package kerberos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/nametype"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// Login gets tickets for services in the name of one principal, and caches them. It
// implements yarnrpc.Login. It replaces a ticket after 0.8 of its life, as
// UserGroupInformation does: at the next call of Ticket, and in Keep. Any number of
// goroutines may use a Login; one at a time talks to the KDC.
type Login struct {
	conf   *Config // a copy for the goroutine that holds turn; all may read its realms, which never change
	source source  // for the goroutine that holds turn
	client name

	turn chan struct{} // holds one element while a goroutine talks to the KDC

	mu       sync.Mutex // guards what follows
	tgt      *grant
	services map[string]*grant // by requested name
}

// FromKeytab logs in with the keys of a file, as servers and long jobs do
// (UserGroupInformation.loginUserFromKeytab). A principal without a realm is in the
// default realm. FromKeytab reads the file to check it, and the Login reads it again for
// each login. FromKeytab sends nothing.
func FromKeytab(conf *Config, who, path string) (*Login, error) {
	p, err := ParsePrincipal(who)
	if err != nil {
		return nil, err
	}
	if p.Realm == "" {
		p.Realm = conf.LibDefaults.DefaultRealm
	}
	s := &keytabSource{path: path, who: p}
	if _, _, _, err := s.read(conf); err != nil {
		return nil, err
	}
	return newLogin(conf, s, s.client()), nil
}

// FromCache logs in with the ticket that kinit has put into a file. FindCache returns the
// file's path. After a later kinit, the Login uses the new ticket. It renews a renewable
// ticket in memory, and does not change the file. FromCache accepts an expired ticket; the
// error then comes from Login.Ticket.
func FromCache(conf *Config, path string) (*Login, error) {
	s := &cacheSource{path: path}
	if err := s.read(); err != nil {
		return nil, err
	}
	return newLogin(conf, s, s.client()), nil
}

func newLogin(conf *Config, s source, client name) *Login {
	return &Login{conf: conf.Clone(), source: s, client: client, turn: make(chan struct{}, 1), services: make(map[string]*grant)}
}

// Principal returns the principal that logs in.
func (l *Login) Principal() Principal { return l.client.principal() }

// RealmOf returns the realm of a host's services, as Config.RealmOf does.
func (l *Login) RealmOf(host string) string { return l.conf.RealmOf(host) }

// Ticket returns a ticket for a service, such as "rm/host@REALM". A service that names no
// realm is in the realm that RealmOf returns for its host. The error names the remedy: see the
// errors of this package.
func (l *Login) Ticket(ctx context.Context, service string) (*sasl.Ticket, error) {
	if g := l.known(service); g.fresh(time.Now()) {
		return g.share(), nil
	}
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.unlock()
	known := l.known(service)
	if known.fresh(time.Now()) { // another goroutine has got it meanwhile
		return known.share(), nil
	}
	got, err := l.obtain(ctx, service)
	if err != nil {
		if ctx.Err() == nil && known.valid(time.Now()) {
			return known.share(), nil
		}
		return nil, fmt.Errorf("get ticket of %v for %s: %w", l.client, service, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.services[service] = got
	return got.share(), nil
}

// Forget drops the ticket for a service that has refused it. The service may have new
// keys.
func (l *Login) Forget(service string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.services, service)
}

// Keep replaces the login's own ticket each time that 0.8 of its life is over, until ctx
// ends. A Login from a cache needs it if days may pass between two calls of Ticket,
// because an expired ticket cannot be renewed. After a failure, Keep calls failed and
// tries again each minute; failed may be nil.
func (l *Login) Keep(ctx context.Context, failed func(error)) {
	for {
		wait := time.Minute
		if err := l.affirm(ctx); err != nil {
			if ctx.Err() == nil && failed != nil {
				failed(fmt.Errorf("renew login of %v: %w", l.client, err))
			}
		} else if due := time.Until(l.due()); due > 0 {
			wait = due
		}
		if pause.For(ctx, wait) != nil {
			return
		}
	}
}

// affirm replaces the login's own ticket if it is not fresh.
func (l *Login) affirm(ctx context.Context) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	_, err := l.granting(ctx)
	return err
}

// due returns the time at which the login's own ticket is no longer fresh.
func (l *Login) due() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tgt == nil { // dropped meanwhile
		return time.Time{}
	}
	return l.tgt.start.Add(l.tgt.end.Sub(l.tgt.start) * 8 / 10)
}

func (l *Login) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *Login) unlock() { <-l.turn }

func (l *Login) known(service string) *grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.services[service]
}

// obtain asks the KDC. The caller holds turn.
func (l *Login) obtain(ctx context.Context, service string) (*grant, error) {
	tgt, err := l.granting(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := ParsePrincipal(service)
	if err != nil {
		return nil, err
	}
	if wanted.Realm == "" {
		wanted.Realm = l.RealmOf(wanted.Host)
	}
	got, err := obtain(ctx, l.conf, tgt, newName(wanted, nametype.KRB_NT_SRV_HST))
	if errors.Is(err, ErrExpired) { // expired by the KDC's clock, not by this machine's: the next try logs in again
		l.mu.Lock()
		defer l.mu.Unlock()
		l.tgt = nil
	}
	return got, err
}

// granting returns the login's own ticket. The caller holds turn.
func (l *Login) granting(ctx context.Context) (*grant, error) {
	l.mu.Lock()
	tgt := l.tgt
	l.mu.Unlock()
	if tgt.fresh(time.Now()) {
		return tgt, nil
	}
	next, err := l.source.next(ctx, l.conf, tgt)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tgt != next {
		l.tgt = next
		clear(l.services) // a service's ticket ends at the latest with the ticket-granting ticket that got it
	}
	return next, nil
}

// share returns the ticket in the form of package sasl.
func (g *grant) share() *sasl.Ticket {
	return &sasl.Ticket{Client: g.client.PrincipalName, ClientRealm: g.client.realm, Ticket: g.ticket, Key: g.key}
}
