package kerberos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

const rm = "rm/localhost"

func TestLoginsThatFailSayWhatToDo(t *testing.T) {
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
		keytab := newUser(t, c, "changed", "", "")
		if err := c.Kadmin(t.Context(), "cpw -randkey changed"); err != nil {
			t.Fatal(err)
		}
		if err := ticket(conf, "changed", keytab); !errors.Is(err, kerberos.ErrWrongKey) {
			t.Errorf("got %v, want ErrWrongKey", err)
		}
	})
	t.Run("an outdated keytab of a principal that must prove itself first", func(t *testing.T) {
		keytab := newUser(t, c, "strict", "+requires_preauth", "")
		if err := ticket(conf, "strict", keytab); err != nil {
			t.Errorf("while it is right: %v", err)
		}
		if err := c.Kadmin(t.Context(), "cpw -randkey strict"); err != nil {
			t.Fatal(err)
		}
		if err := ticket(conf, "strict", keytab); !errors.Is(err, kerberos.ErrWrongKey) {
			t.Errorf("got %v, want ErrWrongKey", err)
		}
	})
	t.Run("a principal that is gone", func(t *testing.T) {
		keytab := newUser(t, c, "gone", "", "")
		if err := c.Kadmin(t.Context(), "delprinc -force gone"); err != nil {
			t.Fatal(err)
		}
		if err := ticket(conf, "gone", keytab); !errors.Is(err, kerberos.ErrUnknownClient) {
			t.Errorf("got %v, want ErrUnknownClient", err)
		}
	})
	t.Run("an account that is locked", func(t *testing.T) {
		keytab := newUser(t, c, "locked", "-allow_tix", "")
		if err := ticket(conf, "locked", keytab); !errors.Is(err, kerberos.ErrLocked) {
			t.Errorf("got %v, want ErrLocked", err)
		}
	})
	t.Run("a service that is not there", func(t *testing.T) {
		if _, err := fromKeytab(t, c, alice).Ticket(t.Context(), "rm/elsewhere@"+cluster.Realm); !errors.Is(err, kerberos.ErrUnknownService) {
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
		o := options(t, c, fromKeytab(t, c, alice))
		o.RPC.ServerPrincipal = "nn/_HOST@" + cluster.Realm
		_, err := newClient(t, o).NewApplication(t.Context())
		if _, is := errors.AsType[*kerberos.ServerMismatchError](err); !is {
			t.Errorf("got %v, want a ServerMismatchError", err)
		}
		o.RPC.ServerPrincipal = "rm/_HOST@" + cluster.Realm
		if _, err := newClient(t, o).NewApplication(t.Context()); err != nil {
			t.Errorf("the right one: %v", err)
		}
	})
	// The clock of a bubble stands at the year 2000.
	for name, demand := range map[string]string{"a clock that is wrong": "", "a clock that is wrong, as the kdc finds": "+requires_preauth"} {
		t.Run(name, func(t *testing.T) {
			keytab := newUser(t, c, "late", demand, "")
			synctest.Test(t, func(t *testing.T) {
				if err := ticket(conf, "late", keytab); !errors.Is(err, kerberos.ErrClockSkew) {
					t.Errorf("got %v, want ErrClockSkew", err)
				}
			})
		})
	}
}

// TestKeysOfEachType would catch a type of keys that logs in to the KDC and not to a server.
func TestKeysOfEachType(t *testing.T) {
	c := clusters.Use(t, clusters.Secure)
	for _, kind := range []string{"aes256-cts", "aes128-cts", "aes256-sha2", "aes128-sha2", "arcfour-hmac"} {
		t.Run(kind, func(t *testing.T) {
			keytab := newUser(t, c, "kind", "", "-e "+kind+":normal")
			login, err := kerberos.FromKeytab(realm(t, c), "kind", keytab)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := newClient(t, options(t, c, login)).NewApplication(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestKeysThatAreNotPermitted would catch a login that fails without a word of which keys there
// are and which would do.
func TestKeysThatAreNotPermitted(t *testing.T) {
	c := clusters.Use(t, clusters.Secure)
	keytab := newUser(t, c, "old", "", "-e arcfour-hmac:normal")
	conf := realm(t, c)
	conf.LibDefaults.DefaultTktEnctypeIDs = []int32{etypeID.AES256_CTS_HMAC_SHA1_96}
	login, err := kerberos.FromKeytab(conf, "old", keytab)
	if err == nil {
		_, err = login.Ticket(t.Context(), rm)
	}
	if _, is := errors.AsType[*kerberos.KeytabError](err); !is || !strings.Contains(err.Error(), "arcfour-hmac") {
		t.Errorf("got %v, want a KeytabError that names the keys", err)
	}
}

// TestAnExpiredTicketIsReplacedByKinit would catch a Login that keeps what it read first.
func TestAnExpiredTicketIsReplacedByKinit(t *testing.T) {
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
	if _, err := newClient(t, options(t, c, login)).NewApplication(t.Context()); err != nil {
		t.Errorf("after kinit: %v", err)
	}
	if err := c.Kinit(t.Context(), bob, cache, "-l", "1s"); err != nil {
		t.Fatal(err)
	}
	if _, err := login.Ticket(t.Context(), rm); err != nil {
		t.Errorf("another's tickets make alice's unusable: %v", err)
	}
}

// shortlived is alice's login from a cache with a ticket that serves and will have expired soon: in 2 s or, where
// it has before it is shown, in twice as many.
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

// TestLoginsLiveOnBeyondTheirTickets would catch a Login that does not renew, or not log in again,
// in time.
func TestLoginsLiveOnBeyondTheirTickets(t *testing.T) {
	c := clusters.Use(t, clusters.Secure)
	const life = 10 * time.Second // tickets are renewed in the last fifth of it, or never: a busy machine may be late
	keytab := newUser(t, c, "shortlived", "-maxlife \"10 seconds\"", "")
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Kinit(t.Context(), alice, cache, "-l", "10s", "-r", "1h"); err != nil {
		t.Fatal(err)
	}
	state, err := os.Stat(cache)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := kerberos.FromCache(realm(t, c), cache)
	if err != nil {
		t.Fatal(err)
	}
	again, err := kerberos.FromKeytab(realm(t, c), "shortlived", keytab)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := kerberos.FromCache(realm(t, c), cache) // nobody asks it before the end
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		kept.Keep(ctx, func(err error) { t.Errorf("keep: %v", err) })
	}()
	first := time.Now()
	wait.Until(t, "two lives pass", func() bool {
		for name, login := range map[string]*kerberos.Login{"renewed": renewed, "logged in again": again} {
			if _, err := login.Ticket(t.Context(), rm); err != nil {
				t.Fatalf("%s, after %v: %v", name, time.Since(first), err)
			}
		}
		return time.Since(first) > 2*life
	})
	if _, err := newClient(t, options(t, c, kept)).NewApplication(t.Context()); err != nil {
		t.Errorf("kept: %v", err)
	}
	cancel()
	<-ended
	if now, err := os.Stat(cache); err != nil || !now.ModTime().Equal(state.ModTime()) {
		t.Errorf("the cache file was written to: %v", err)
	}
}

// TestTheKDCMayBeAway: tickets that are still good serve on without it.
func TestTheKDCMayBeAway(t *testing.T) {
	c := cluster.ForTest(t, cluster.Config{NodeManagers: 1, Kerberos: &cluster.Kerberos{}})
	login := fromKeytab(t, c, alice)
	if _, err := login.Ticket(t.Context(), rm+"@"+cluster.Realm); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(t.Context(), "kdc"); err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t, options(t, c, login)).NewApplication(t.Context()); err != nil {
		t.Errorf("with a ticket: %v", err)
	}
	if _, err := fromKeytab(t, c, bob).Ticket(t.Context(), rm); !errors.Is(err, kerberos.ErrKDC) {
		t.Errorf("without one: got %v, want ErrKDC", err)
	}
}
