package kerberos

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// partner is a user of the realm that the cluster's own realm trusts.
const partner = "dora@" + cluster.PartnerRealm

// TestUsersOfATrustedRealm would catch a client that asks only its own KDC for tickets of a server
// in another realm, or assumes its own realm for every server.
func TestUsersOfATrustedRealm(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Kinit(t.Context(), partner, cache); err != nil {
		t.Fatal(err)
	}
	away := realm(t, c)
	away.LibDefaults.DefaultRealm = cluster.PartnerRealm
	for name, get := range map[string]func() (*kerberos.Login, error){
		"with a keytab":                  func() (*kerberos.Login, error) { return kerberos.FromKeytab(realm(t, c), partner, c.Keytab(partner)) },
		"with a keytab, where they live": func() (*kerberos.Login, error) { return kerberos.FromKeytab(away, "dora", c.Keytab(partner)) },
		"with a ticket of kinit":         func() (*kerberos.Login, error) { return kerberos.FromCache(realm(t, c), cache) },
	} {
		t.Run(name, func(t *testing.T) {
			login, err := get()
			if err != nil {
				t.Fatal(err)
			}
			if report := pass(t, clientWith(t, c, login), t.Name()); report.User != "dora" {
				t.Errorf("the application of %s is %s's", partner, report.User)
			}
			o := rpctest.NameNodeOptions(t, c, alice)
			o.Login = login
			if _, err := rpctest.NameNode(t, c, o).Locate(t.Context(), "/nothing", 0, 1); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the layout of no file: got %v, want that there is none", err)
			}
		})
	}
}

// TestTrustIsOneWay would catch a login in the direction without trust.
func TestTrustIsOneWay(t *testing.T) {
	t.Parallel()
	_, err := rpctest.FromKeytab(t, clusters.Use(t, clusters.Secure), alice).Ticket(t.Context(), "rm/localhost@"+cluster.PartnerRealm)
	if !errors.Is(err, kerberos.ErrUnknownService) {
		t.Errorf("got %v, want ErrUnknownService", err)
	}
}
