package kerberos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

const rm = "rm/localhost"

func TestLoginsThatFailSayWhatToDo(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	conf := realm(t, c)
	ticket := func(conf *kerberos.Config, user, keytab string) error {
		login, err := kerberos.FromKeytab(conf, user, keytab)
		if err == nil {
			_, err = login.Ticket(t.Context(), rm)
		}
		return err
	}
	t.Run("a keytab of somebody else", func(t *testing.T) {
		err := ticket(conf, alice, c.Keytab(bob))
		if _, is := errors.AsType[*kerberos.KeytabError](err); !is || !strings.Contains(err.Error(), "bob@"+cluster.Realm) {
			t.Errorf("got %v, want a KeytabError that says whose it is", err)
		}
	})
	t.Run("a keytab that is outdated", func(t *testing.T) {
		name, keytab := newUser(t, c, "", "")
		if err := c.Kadmin(t.Context(), "cpw -randkey "+name); err != nil {
			t.Fatal(err)
		}
		if err := ticket(conf, name, keytab); !errors.Is(err, kerberos.ErrWrongKey) {
			t.Errorf("got %v, want ErrWrongKey", err)
		}
	})
	t.Run("an outdated keytab of a principal that must prove itself first", func(t *testing.T) {
		name, keytab := newUser(t, c, "+requires_preauth", "")
		if err := ticket(conf, name, keytab); err != nil {
			t.Errorf("while it is right: %v", err)
		}
		if err := c.Kadmin(t.Context(), "cpw -randkey "+name); err != nil {
			t.Fatal(err)
		}
		if err := ticket(conf, name, keytab); !errors.Is(err, kerberos.ErrWrongKey) {
			t.Errorf("got %v, want ErrWrongKey", err)
		}
	})
	t.Run("a principal that is gone", func(t *testing.T) {
		name, keytab := newUser(t, c, "", "")
		if err := c.Kadmin(t.Context(), "delprinc -force "+name); err != nil {
			t.Fatal(err)
		}
		if err := ticket(conf, name, keytab); !errors.Is(err, kerberos.ErrUnknownClient) {
			t.Errorf("got %v, want ErrUnknownClient", err)
		}
	})
	t.Run("an account that is locked", func(t *testing.T) {
		name, keytab := newUser(t, c, "-allow_tix", "")
		if err := ticket(conf, name, keytab); !errors.Is(err, kerberos.ErrLocked) {
			t.Errorf("got %v, want ErrLocked", err)
		}
	})
	t.Run("a service that is not there", func(t *testing.T) {
		if _, err := rpctest.FromKeytab(t, c, alice).Ticket(t.Context(), "rm/elsewhere@"+cluster.Realm); !errors.Is(err, kerberos.ErrUnknownService) {
			t.Errorf("got %v, want ErrUnknownService", err)
		}
	})
	t.Run("a kdc that is not there", func(t *testing.T) {
		conf := conf.Clone()
		conf.Realms[0].KDC = []string{"127.0.0.1:1"}
		if err := ticket(conf, alice, c.Keytab(alice)); !errors.Is(err, kerberos.ErrKDC) {
			t.Errorf("got %v, want ErrKDC", err)
		}
	})
	t.Run("a server with another principal", func(t *testing.T) {
		o := rpctest.ClientOptions(t, c, alice)
		o.RPC.Server.Principal = "nn/_HOST@" + cluster.Realm
		_, err := rpctest.NewClient(t, o).NewApplication(t.Context())
		if _, is := errors.AsType[*kerberos.ServerMismatchError](err); !is {
			t.Errorf("got %v, want a ServerMismatchError", err)
		}
		o.RPC.Server.Principal = "rm/_HOST@" + cluster.Realm
		if _, err := rpctest.NewClient(t, o).NewApplication(t.Context()); err != nil {
			t.Errorf("the right one: %v", err)
		}
	})
	// The clock of a bubble starts at the year 2000.
	for what, demand := range map[string]string{"a clock that is wrong": "", "a clock that is wrong, as the kdc finds": "+requires_preauth"} {
		t.Run(what, func(t *testing.T) {
			name, keytab := newUser(t, c, demand, "")
			synctest.Test(t, func(t *testing.T) {
				if err := ticket(conf, name, keytab); !errors.Is(err, kerberos.ErrClockSkew) {
					t.Errorf("got %v, want ErrClockSkew", err)
				}
			})
		})
	}
}

// TestKeysOfEachType would catch a type of keys with which the login to the KDC works and the login to a server does
// not.
func TestKeysOfEachType(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	for _, kind := range []string{"aes256-cts", "aes128-cts", "aes256-sha2", "aes128-sha2", "arcfour-hmac"} {
		t.Run(kind, func(t *testing.T) {
			name, keytab := newUser(t, c, "", "-e "+kind+":normal")
			login, err := kerberos.FromKeytab(realm(t, c), name, keytab)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := clientWith(t, c, login).NewApplication(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeysThatAreNotPermitted would catch an error that does not name the existing keys and the permitted ones.
func TestKeysThatAreNotPermitted(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	name, keytab := newUser(t, c, "", "-e arcfour-hmac:normal")
	conf := realm(t, c)
	conf.LibDefaults.DefaultTktEnctypeIDs = []int32{etypeID.AES256_CTS_HMAC_SHA1_96}
	login, err := kerberos.FromKeytab(conf, name, keytab)
	if err == nil {
		_, err = login.Ticket(t.Context(), rm)
	}
	if _, is := errors.AsType[*kerberos.KeytabError](err); !is || !strings.Contains(err.Error(), "arcfour-hmac") {
		t.Errorf("got %v, want a KeytabError that names the keys", err)
	}
}

// TestAnExpiredTicketIsReplacedByKinit would catch a Login that keeps the first ticket that it has read.
func TestAnExpiredTicketIsReplacedByKinit(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	cache := filepath.Join(t.TempDir(), "cache")
	login := shortlived(t, c, cache)
	if got := login.Principal().String(); got != "alice@"+cluster.Realm {
		t.Errorf("the cache is %s's", got)
	}
	wait.Until(t, "the ticket expires", func() bool {
		_, err := login.Ticket(t.Context(), rm)
		return errors.Is(err, kerberos.ErrExpired)
	})
	if err := c.Kinit(t.Context(), alice, cache); err != nil {
		t.Fatal(err)
	}
	if _, err := clientWith(t, c, login).NewApplication(t.Context()); err != nil {
		t.Errorf("after kinit: %v", err)
	}
	if err := c.Kinit(t.Context(), bob, cache, "-l", "1s"); err != nil {
		t.Fatal(err)
	}
	if _, err := login.Ticket(t.Context(), rm); err != nil {
		t.Errorf("another's tickets make alice's unusable: %v", err)
	}
}

// shortlived returns alice's login from a cache with a valid ticket that expires soon: in 2 s, or in twice the time
// after each ticket that expires too early.
func shortlived(t *testing.T, c *cluster.Cluster, cache string) *kerberos.Login {
	t.Helper()
	for life := 2 * time.Second; ; life *= 2 {
		if err := c.Kinit(t.Context(), alice, cache, "-l", life.String(), "-r", life.String()); err != nil {
			t.Fatal(err)
		}
		login, err := kerberos.FromCache(realm(t, c), cache)
		if err == nil {
			_, err = login.Ticket(t.Context(), rm)
		}
		if err == nil {
			return login
		}
		if !errors.Is(err, kerberos.ErrExpired) || life > time.Minute {
			t.Fatal(err)
		}
	}
}

// TestLoginsLiveOnBeyondTheirTickets would catch a Login that does not renew, or log in again, in time.
func TestLoginsLiveOnBeyondTheirTickets(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	// Tickets are renewed in the last fifth of their life, or never. If the machine was too busy, a run with a longer
	// life shows it.
	for life := 10 * time.Second; ; life *= 2 {
		err := liveOn(t, c, life)
		if err == nil {
			return
		}
		if life > time.Minute || !errors.Is(err, kerberos.ErrExpired) {
			t.Fatal(err)
		}
		t.Logf("tickets that live %v: %v", life, err)
	}
}

// liveOn lets three logins live for two lives of their tickets: one from a cache, one from a keytab, and one that only
// Keep uses before the end.
func liveOn(t *testing.T, c *cluster.Cluster, life time.Duration) error {
	t.Helper()
	name, keytab := newUser(t, c, fmt.Sprintf("-maxlife %q", fmt.Sprintf("%.0f seconds", life.Seconds())), "")
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Kinit(t.Context(), alice, cache, "-l", life.String(), "-r", "1h"); err != nil {
		t.Fatal(err)
	}
	state, err := os.Stat(cache)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := kerberos.FromCache(realm(t, c), cache)
	if err != nil {
		return err
	}
	again, err := kerberos.FromKeytab(realm(t, c), name, keytab)
	if err != nil {
		return err
	}
	kept, err := kerberos.FromCache(realm(t, c), cache)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // ends with ctx
		var errs []error
		kept.Keep(ctx, func(err error) { errs = append(errs, err) })
		ended <- errors.Join(errs...)
	}()
	first := time.Now()
	err = wait.Poll(ctx, "the end of two lives", func() error {
		for name, login := range map[string]*kerberos.Login{"renewed": renewed, "logged in again": again} {
			if _, err := login.Ticket(ctx, rm); err != nil {
				return fmt.Errorf("%w: %s, after %v: %w", wait.ErrGivenUp, name, time.Since(first), err)
			}
		}
		if time.Since(first) < 2*life {
			return errors.New("not yet")
		}
		return nil
	})
	if err == nil {
		if _, err = clientWith(t, c, kept).NewApplication(ctx); err != nil {
			err = fmt.Errorf("kept: %w", err)
		}
	}
	cancel()
	err = errors.Join(err, <-ended)
	if now, err := os.Stat(cache); err != nil || !now.ModTime().Equal(state.ModTime()) {
		t.Errorf("the cache file was written to: %v", err)
	}
	return err
}

// TestTheKDCMayBeAway would catch a login that calls the KDC although its tickets are still valid. The test has a relay
// to the KDC, which it can close.
func TestTheKDCMayBeAway(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	conf := realm(t, c)
	i := slices.IndexFunc(conf.Realms, func(r config.Realm) bool { return r.Realm == cluster.Realm })
	way := newDetour(t, conf.Realms[i].KDC[0])
	conf.Realms[i].KDC = []string{way.Addr().String()}
	from := func(user string) *kerberos.Login {
		login, err := kerberos.FromKeytab(conf, user, c.Keytab(user))
		if err != nil {
			t.Fatal(err)
		}
		return login
	}
	login := from(alice)
	if _, err := login.Ticket(t.Context(), rm+"@"+cluster.Realm); err != nil {
		t.Fatal(err)
	}
	way.breakOff(t)
	if _, err := clientWith(t, c, login).NewApplication(t.Context()); err != nil {
		t.Errorf("with a ticket: %v", err)
	}
	if _, err := from(bob).Ticket(t.Context(), rm); !errors.Is(err, kerberos.ErrKDC) {
		t.Errorf("without one: got %v, want ErrKDC", err)
	}
}

// detour is a relay to a server. When it is closed, it breaks its connections.
type detour struct {
	net.Listener
	passing sync.WaitGroup
}

func newDetour(t *testing.T, server string) *detour {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &detour{Listener: listener}
	d.passing.Go(func() { // ends with the listener
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			d.passing.Go(func() { d.pass(t.Context(), client, server) })
		}
	})
	return d
}

// pass copies the data of both directions until one side closes.
func (d *detour) pass(ctx context.Context, client net.Conn, address string) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	d.passing.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	_, _ = io.Copy(client, server)
}

// breakOff closes the relay, and waits for the end of its connections.
func (d *detour) breakOff(t *testing.T) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	d.passing.Wait()
}
