package kerberos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// source provides a Login's ticket-granting tickets. One goroutine at a time uses it.
type source interface {
	// next returns a fresh ticket or, if it cannot get one, a ticket that is still valid. now
	// is the ticket in use, or nil.
	next(ctx context.Context, conf *Config, now *grant) (*grant, error)
}

// keytabSource reads the file for each login, because keys change.
type keytabSource struct {
	path string
	who  Principal
}

func (s *keytabSource) client() name { return newName(s.who, nametype.KRB_NT_PRINCIPAL) }

func (s *keytabSource) read(conf *Config) (file *Keytab, keys *keytab.Keytab, own *config.Config, err error) {
	if file, err = ReadKeytab(s.path); err != nil {
		return nil, nil, nil, err
	}
	keys, own, err = file.Login(s.who, conf)
	return file, keys, own, err
}

func (s *keytabSource) next(ctx context.Context, conf *Config, now *grant) (*grant, error) {
	got, err := s.login(ctx, conf)
	if err != nil && ctx.Err() == nil && now.valid(time.Now()) {
		return now, nil // still valid for some time
	}
	return got, err
}

func (s *keytabSource) login(ctx context.Context, conf *Config) (*grant, error) {
	file, keys, own, err := s.read(conf)
	if err != nil {
		return nil, err
	}
	got, err := login(ctx, &Config{Config: own, lookup: conf.lookup}, s.client(), keys)
	if errors.Is(err, ErrWrongKey) {
		return nil, fmt.Errorf("log in as %v from keytab %s, which has %s: %w", s.who, s.path, file.KeysOf(s.who), err)
	}
	if err != nil {
		return nil, fmt.Errorf("log in as %v from keytab %s: %w", s.who, s.path, err)
	}
	return got, nil
}

// cacheSource reads the file again after it has changed.
type cacheSource struct {
	path  string
	state os.FileInfo // of the file when it was read
	found *grant
}

func (s *cacheSource) client() name { return s.found.client }

func (s *cacheSource) next(ctx context.Context, conf *Config, now *grant) (*grant, error) {
	if err := s.read(); err != nil && !now.valid(time.Now()) {
		return nil, err
	}
	best := s.found
	if now != nil && now.end.After(best.end) {
		best = now // it was renewed in memory
	}
	switch at := time.Now(); {
	case !best.valid(at):
		return nil, fmt.Errorf("%w: the ticket of %v in %s expired at %s", ErrExpired, best.client, s.path, best.end.Format(time.RFC3339))
	case best.fresh(at) || !best.renewable.After(best.end):
		return best, nil
	}
	renewed, err := renew(ctx, conf, best)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return best, nil // still valid for some time
	}
	return renewed, nil
}

// read reads the file if it has changed. Its tickets must still be of the same principal.
func (s *cacheSource) read() error {
	state, err := os.Stat(s.path)
	if err == nil && s.state != nil && os.SameFile(s.state, state) && s.state.ModTime().Equal(state.ModTime()) && s.state.Size() == state.Size() {
		return nil
	}
	cache, err := ReadCache(s.path) // its error says more than that of Stat
	if err != nil {
		return err
	}
	if s.found != nil && cache.Principal != s.found.client.principal() {
		return fmt.Errorf("read credential cache %s: the tickets now belong to %v, but this login is for %v", s.path, cache.Principal, s.found.client)
	}
	found := &grant{
		client: name{cache.tgt.Client.PrincipalName, cache.tgt.Client.Realm},
		key:    cache.tgt.Key,
		start:  cache.TGT.Start, end: cache.TGT.End, renewable: cache.TGT.RenewTill,
	}
	if err := found.ticket.Unmarshal(cache.tgt.Ticket); err != nil {
		return fmt.Errorf("read credential cache %s: %w: run kinit", s.path, err)
	}
	if found.start.IsZero() {
		found.start = cache.tgt.AuthTime
	}
	s.state, s.found = state, found
	return nil
}
