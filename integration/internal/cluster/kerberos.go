package cluster

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// Kerberos makes a cluster secure. It has its own KDC, its servers log in with keytabs, and clients must log in. There
// are principals for the servers (nn, dn, rm and nm at localhost, HTTP at each host) and for the users: alice, who may
// impersonate others, bob, and Config.Users.
type Kerberos struct {
	// Protection is hadoop.rpc.protection and dfs.data.transfer.protection: authentication, integrity or privacy, or
	// several of them separated by commas. Empty means authentication.
	Protection string
	// TicketLife and RenewLife bound the tickets that the KDC issues: 10 hours and 7 days if they are zero.
	TicketLife, RenewLife time.Duration
	// ClockSkew is the allowed difference of clocks. A ticket is accepted for this time after its end. It is 5 minutes
	// if zero.
	ClockSkew time.Duration
	// Web makes web servers require tickets too (hadoop.http.authentication.type).
	Web bool
	// Partners are users of PartnerRealm. The cluster knows them by their short names, so each has the home folder,
	// queues and access rights of the local user with that name.
	Partners []string
}

func (k Kerberos) withDefaults() Kerberos {
	if k.Protection == "" {
		k.Protection = "authentication"
	}
	if k.TicketLife == 0 {
		k.TicketLife = 10 * time.Hour
	}
	if k.RenewLife == 0 {
		k.RenewLife = 7 * 24 * time.Hour
	}
	if k.ClockSkew == 0 {
		k.ClockSkew = 5 * time.Minute
	}
	return k
}

func (k Kerberos) validate() error {
	if _, err := sasl.ParseProtection(k.Protection); err != nil {
		return err
	}
	if k.TicketLife < time.Second || k.RenewLife < k.TicketLife {
		return fmt.Errorf("ticket lifetime %s and renewable lifetime %s: want at least 1s, and the renewable lifetime not below the lifetime", k.TicketLife, k.RenewLife)
	}
	if k.ClockSkew < time.Second {
		return fmt.Errorf("clock skew %s: want at least 1s", k.ClockSkew)
	}
	return nil
}

// services holds the principals of the servers at localhost.
func services() []string { return []string{"nn", "dn", "rm", "nm", "HTTP"} }

// servicePrincipal returns the full name of a server's principal.
func servicePrincipal(service string) string { return service + "/" + master + "@" + Realm }

// secure adds the properties with which servers and clients use Kerberos. The caller's own properties override them.
func (s *spec) secure() {
	maps.Copy(s.Core, map[string]string{
		"hadoop.security.authentication": "kerberos",
		"hadoop.security.authorization":  "true",
		"hadoop.rpc.protection":          s.Kerberos.Protection,
	})
	if len(s.Kerberos.Partners) > 0 {
		s.Core["hadoop.security.auth_to_local"] = `RULE:[1:$1@$0](.*@` + regexp.QuoteMeta(PartnerRealm) + `)s/@.*// DEFAULT`
	}
	maps.Copy(s.HDFS, map[string]string{
		"dfs.namenode.kerberos.principal": servicePrincipal("nn"),
		"dfs.datanode.kerberos.principal": servicePrincipal("dn"),
		"dfs.block.access.token.enable":   "true",
		"dfs.data.transfer.protection":    s.Kerberos.Protection,
	})
	maps.Copy(s.YARN, map[string]string{
		"yarn.resourcemanager.principal": servicePrincipal("rm"),
		"yarn.nodemanager.principal":     servicePrincipal("nm"),
		// The ResourceManager gets new tokens for applications whose own tokens are about to end. NodeManagers localize
		// and aggregate logs with the new ones.
		"yarn.resourcemanager.proxy-user-privileges.enabled": "true",
		// Every user may look at applications, and has no rights over others. Web servers take users without a name for
		// dr.who, who never has a ticket; tests read pages as dr.who.
		"yarn.admin.acl": "dr.who",
	})
	if s.Kerberos.Web {
		maps.Copy(s.Core, map[string]string{
			"hadoop.http.filter.initializers":                  "org.apache.hadoop.security.AuthenticationFilterInitializer",
			"hadoop.http.authentication.type":                  "kerberos",
			"hadoop.http.authentication.kerberos.principal":    "HTTP/_HOST@" + Realm,
			"hadoop.http.authentication.kerberos.keytab":       s.keytab("HTTP"),
			"hadoop.http.authentication.signature.secret.file": s.webSecret(),
		})
		s.YARN["yarn.admin.acl"] = "nn" // tests show that its web server requires tickets
	}
	for _, d := range s.Daemons {
		switch d.Kind {
		case nameNode, dataNode:
			maps.Copy(d.HDFS, map[string]string{
				"dfs.namenode.keytab.file":                  s.keytab("nn"),
				"dfs.datanode.keytab.file":                  s.keytab("dn"),
				"dfs.web.authentication.kerberos.principal": servicePrincipal("HTTP"),
				"dfs.web.authentication.kerberos.keytab":    s.keytab("HTTP"),
				// Otherwise DataNodes require ports below 1024, or TLS.
				"ignore.secure.ports.for.testing": "true",
			})
		case resourceManager, nodeManager:
			maps.Copy(d.YARN, map[string]string{
				"yarn.resourcemanager.keytab": s.keytab("rm"),
				"yarn.nodemanager.keytab":     s.keytab("nm"),
			})
		case keyCenter, zooKeeper:
			continue
		}
		maps.Copy(d.Core, map[string]string{
			"hadoop.proxyuser.alice.hosts": "*",
			"hadoop.proxyuser.alice.users": "*",
			"hadoop.proxyuser.rm.hosts":    "*",
			"hadoop.proxyuser.rm.users":    "*",
		})
	}
}

func (s *spec) keytab(name string) string {
	return filepath.Join(s.Dir, keyCenterName, name+".keytab")
}

// webSecret is the file with the secret with which web servers sign their cookies.
func (s *spec) webSecret() string { return filepath.Join(s.Dir, keyCenterName, "web.secret") }

// webHosts returns the hosts with web servers.
func (s *spec) webHosts() []string {
	var hosts []string
	for _, d := range s.hadoopDaemons() {
		hosts = append(hosts, d.Host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func (s *spec) krb5Conf() string { return filepath.Join(s.Dir, keyCenterName, "krb5.conf") }
func (s *spec) kdcConf() string  { return filepath.Join(s.Dir, keyCenterName, "kdc.conf") }

// users returns the users that have a principal of their own.
func (s *spec) users() []string {
	all := append([]string{"alice", "bob"}, s.Users...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Secure reports whether the cluster uses Kerberos.
func (c *Cluster) Secure() bool { return c.spec.Kerberos != nil }

// Keytab returns the path of a keytab: of a service (nn, dn, rm, nm, or HTTP with the keys of all hosts), of a user, or
// of a user of the second realm, name@PARTNER.TEST.
func (c *Cluster) Keytab(name string) string { return c.spec.keytab(name) }

// Krb5Conf returns the path of the file that clients need as KRB5_CONFIG. It is empty without Kerberos.
func (c *Cluster) Krb5Conf() string {
	if !c.Secure() {
		return ""
	}
	return c.spec.krb5Conf()
}

// KerberosConfig returns the configuration for logins at the cluster's KDC.
func (c *Cluster) KerberosConfig() (*kerberos.Config, error) {
	return kerberos.LoadConfig(func(name string) string {
		return map[string]string{"KRB5_CONFIG": c.Krb5Conf()}[name]
	})
}

// Login returns the login of a principal with a keytab: a user, or a server such as rm/localhost.
func (c *Cluster) Login(principal string) (*kerberos.Login, error) {
	conf, err := c.KerberosConfig()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(principal, "/")
	return kerberos.FromKeytab(conf, principal, c.Keytab(name))
}

// web returns the client for the daemons' HTTP servers.
func (c *Cluster) web() webClient {
	client := c.http
	if c.Secure() && c.spec.Kerberos.Web {
		client.authenticate = c.negotiate
	}
	return client
}

// webLogin is the login of the NameNode's principal, which the harness uses for web servers.
type webLogin struct {
	once sync.Once // guards login, err
	*kerberos.Login
	err error
}

// negotiate authenticates a request as the NameNode's principal.
func (c *Cluster) negotiate(req *http.Request) error {
	c.login.once.Do(func() {
		c.login.Login, c.login.err = c.Login(servicePrincipal("nn"))
	})
	if c.login.err != nil {
		return c.login.err
	}
	ticket, err := c.login.Ticket(req.Context(), "HTTP/"+req.URL.Hostname())
	if err != nil {
		return err
	}
	token, err := (&sasl.GSSAPI{Ticket: ticket}).Start(nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Negotiate "+base64.StdEncoding.EncodeToString(token))
	return nil
}
