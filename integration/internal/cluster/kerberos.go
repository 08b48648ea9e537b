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

// Kerberos makes a cluster secure: it has a KDC of its own, its servers log in from keytabs, and clients must log in.
// There are principals for the servers (nn, dn, rm and nm at localhost, HTTP at each host) and for users: alice, who may
// act for others, bob, and Config.Users.
type Kerberos struct {
	// Protection is hadoop.rpc.protection and dfs.data.transfer.protection: authentication, integrity or privacy, or
	// several of them separated by commas. Empty means authentication.
	Protection string
	// TicketLife and RenewLife bound what the KDC grants; 10 hours and 7 days if zero.
	TicketLife, RenewLife time.Duration
	// ClockSkew is how far clocks may differ, and so how long a ticket serves beyond its end; 5 minutes if zero.
	ClockSkew time.Duration
	// Web makes web servers ask for tickets, too (hadoop.http.authentication.type).
	Web bool
	// Partners are users of PartnerRealm, whom the cluster knows by their short names: theirs are the home folders, the
	// queues and the access lists of a local user of that name.
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

// services are the principals of the servers, at localhost.
func services() []string { return []string{"nn", "dn", "rm", "nm", "HTTP"} }

// servicePrincipal is the full name of a server's principal.
func servicePrincipal(service string) string { return service + "/" + master + "@" + Realm }

// secure adds what makes servers and clients use Kerberos. It comes before the caller's own properties.
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
		// The ResourceManager gets new tokens for applications whose own are about to end: NodeManagers localize
		// and aggregate logs with these.
		"yarn.resourcemanager.proxy-user-privileges.enabled": "true",
		// Here everybody is known, and has no power over others. Web servers take those who do not say who they are
		// for dr.who; no ticket is his, and tests read there.
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
		s.YARN["yarn.admin.acl"] = "nn" // whose ticket tests show there
	}
	for _, d := range s.Daemons {
		switch d.Kind {
		case nameNode, dataNode:
			maps.Copy(d.HDFS, map[string]string{
				"dfs.namenode.keytab.file":                  s.keytab("nn"),
				"dfs.datanode.keytab.file":                  s.keytab("dn"),
				"dfs.web.authentication.kerberos.principal": servicePrincipal("HTTP"),
				"dfs.web.authentication.kerberos.keytab":    s.keytab("HTTP"),
				// Or DataNodes want ports below 1024, or TLS.
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

// webSecret is the file with what web servers sign their cookies with.
func (s *spec) webSecret() string { return filepath.Join(s.Dir, keyCenterName, "web.secret") }

// webHosts are the hosts that have web servers.
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

// users are the names that have a principal of their own.
func (s *spec) users() []string {
	all := append([]string{"alice", "bob"}, s.Users...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Secure says whether the cluster uses Kerberos.
func (c *Cluster) Secure() bool { return c.spec.Kerberos != nil }

// Keytab is the path of a principal's keytab; it is a service's (nn, dn, rm, nm, and HTTP with those of all hosts) or a
// user's, name@PARTNER.TEST for one of the second realm.
func (c *Cluster) Keytab(name string) string { return c.spec.keytab(name) }

// Krb5Conf is the path of the configuration to give to clients as KRB5_CONFIG; empty without Kerberos.
func (c *Cluster) Krb5Conf() string {
	if !c.Secure() {
		return ""
	}
	return c.spec.krb5Conf()
}

// KerberosConfig is what logins at the cluster's KDC are configured with.
func (c *Cluster) KerberosConfig() (*kerberos.Config, error) {
	return kerberos.LoadConfig(func(name string) string {
		return map[string]string{"KRB5_CONFIG": c.Krb5Conf()}[name]
	})
}

// Login is that of a principal with a keytab: a user, or a server, such as rm/localhost.
func (c *Cluster) Login(principal string) (*kerberos.Login, error) {
	conf, err := c.KerberosConfig()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(principal, "/")
	return kerberos.FromKeytab(conf, principal, c.Keytab(name))
}

// web asks the daemons' HTTP servers.
func (c *Cluster) web() webClient {
	client := c.http
	if c.Secure() && c.spec.Kerberos.Web {
		client.authenticate = c.negotiate
	}
	return client
}

// webLogin is the NameNode's principal's, which the harness is to web servers.
type webLogin struct {
	once sync.Once // guards login, err
	*kerberos.Login
	err error
}

// negotiate makes a request be the NameNode's principal's.
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
