package cluster

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// Realm is the Kerberos realm of secure clusters.
const Realm = "BOBBIN.TEST"

// Kerberos makes a cluster secure: it has a KDC of its own, its servers log in from keytabs, and clients must log in.
// There are principals for the servers (nn, dn, rm, nm and HTTP at localhost) and for users: alice, who may act for
// others, bob, and Config.Users.
type Kerberos struct {
	// Protection is hadoop.rpc.protection and dfs.data.transfer.protection: authentication, integrity or privacy, or
	// several of them separated by commas. Empty means authentication.
	Protection string
	// TicketLife and RenewLife bound what the KDC grants; 10 hours and 7 days if zero.
	TicketLife, RenewLife time.Duration
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
	return k
}

func (k Kerberos) validate() error {
	if _, err := sasl.ParseProtection(k.Protection); err != nil {
		return err
	}
	if k.TicketLife < time.Second || k.RenewLife < k.TicketLife {
		return fmt.Errorf("tickets that live %s and can be renewed for %s: want at least a second, and the second not shorter", k.TicketLife, k.RenewLife)
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
	maps.Copy(s.HDFS, map[string]string{
		"dfs.namenode.kerberos.principal": servicePrincipal("nn"),
		"dfs.datanode.kerberos.principal": servicePrincipal("dn"),
		"dfs.block.access.token.enable":   "true",
		"dfs.data.transfer.protection":    s.Kerberos.Protection,
	})
	maps.Copy(s.YARN, map[string]string{
		"yarn.resourcemanager.principal": servicePrincipal("rm"),
		"yarn.nodemanager.principal":     servicePrincipal("nm"),
	})
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

func (s *spec) krb5Conf() string { return filepath.Join(s.Dir, keyCenterName, "krb5.conf") }
func (s *spec) kdcConf() string  { return filepath.Join(s.Dir, keyCenterName, "kdc.conf") }

// users are the names that have a principal of their own.
func (s *spec) users() []string {
	all := append([]string{"alice", "bob"}, s.Users...)
	slices.Sort(all)
	return slices.Compact(all)
}

// writeRealm writes the configuration of the KDC and of its clients.
func (s *spec) writeRealm() error {
	d, err := s.daemon(keyCenterName)
	if err != nil {
		return err
	}
	krb5 := fmt.Sprintf(`[libdefaults]
	default_realm = %[1]s
	dns_lookup_kdc = false
	dns_lookup_realm = false
	rdns = false
	udp_preference_limit = 1
	ticket_lifetime = %[2]ds
	renew_lifetime = %[3]ds
[realms]
	%[1]s = {
		kdc = %[4]s
	}
[domain_realm]
	%[5]s = %[1]s
`, Realm, int(s.Kerberos.TicketLife.Seconds()), int(s.Kerberos.RenewLife.Seconds()), d.Web, master)
	kdc := fmt.Sprintf(`[kdcdefaults]
	kdc_listen = %[1]s
	kdc_tcp_listen = %[1]s
[realms]
	%[2]s = {
		database_name = %[3]s/database
		key_stash_file = %[3]s/stash
		acl_file = %[3]s/none
		max_life = %[4]ds
		max_renewable_life = %[5]ds
		supported_enctypes = aes256-cts:normal aes128-cts:normal aes256-sha2:normal aes128-sha2:normal
	}
[logging]
	kdc = STDERR
`, d.Web, Realm, filepath.Dir(s.kdcConf()), int(s.Kerberos.TicketLife.Seconds()), int(s.Kerberos.RenewLife.Seconds()))
	for path, text := range map[string]string{s.krb5Conf(): krb5, s.kdcConf(): kdc} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// makeRealm makes the KDC's database with all principals, and their keytabs, unless they are there.
func (c *Cluster) makeRealm(ctx context.Context) error {
	if _, err := os.Stat(c.spec.keytab("alice")); err == nil {
		return nil
	}
	// The database is on this machine for a test's time: anybody may know its master key.
	create, err := c.kerberosCommand(ctx, "kdb5_util", "create", "-s", "-P", "bobbin", "-r", Realm)
	if err != nil {
		return err
	}
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("make the kdc's database: %w\n%s", err, lastLines(out, 10))
	}
	var commands []string
	for _, name := range services() {
		commands = append(commands, "addprinc -randkey "+name+"/"+master, "ktadd -q -k "+c.spec.keytab(name)+" "+name+"/"+master)
	}
	for _, name := range c.spec.users() { // last, as alice's keytab says that all was done
		commands = append(commands, "addprinc -randkey "+name)
	}
	for _, name := range slices.Backward(c.spec.users()) {
		commands = append(commands, "ktadd -q -k "+c.spec.keytab(name)+" "+name)
	}
	return c.Kadmin(ctx, commands...)
}

// Kadmin runs commands of kadmin.local on the KDC's database. It works whether or not the KDC runs.
func (c *Cluster) Kadmin(ctx context.Context, commands ...string) error {
	cmd, err := c.kerberosCommand(ctx, "kadmin.local", "-r", Realm)
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run kadmin.local: %w\n%s", err, lastLines(stderr.Bytes(), 10))
	}
	for line := range strings.Lines(stderr.String()) { // the exit code of a command that fails is 0
		if !strings.HasPrefix(line, "No policy specified") {
			return fmt.Errorf("run kadmin.local: %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// Kinit gets a ticket for a principal of the cluster from its keytab, and puts it into the cache file. It runs MIT's
// kinit, with further arguments if there are any.
func (c *Cluster) Kinit(ctx context.Context, name, cache string, args ...string) error {
	principal := name
	if slices.Contains(services(), name) {
		principal = servicePrincipal(name)
	}
	cmd, err := c.kerberosCommand(ctx, "kinit", append(append([]string{"-c", cache, "-k", "-t", c.Keytab(name)}, args...), principal)...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kinit %s: %w: %s", principal, err, bytes.TrimSpace(out))
	}
	return nil
}

// Secure says whether the cluster uses Kerberos.
func (c *Cluster) Secure() bool { return c.spec.Kerberos != nil }

// Keytab is the path of a principal's keytab; it is a service's (nn, dn, rm, nm, HTTP) or a user's.
func (c *Cluster) Keytab(name string) string { return c.spec.keytab(name) }

// Krb5Conf is the path of the configuration to give to clients as KRB5_CONFIG; empty without Kerberos.
func (c *Cluster) Krb5Conf() string {
	if !c.Secure() {
		return ""
	}
	return c.spec.krb5Conf()
}

// negotiate makes a request be the NameNode's principal's.
func (c *Cluster) negotiate(req *http.Request) error {
	conf, err := config.Load(c.spec.krb5Conf())
	if err != nil {
		return err
	}
	keys, err := keytab.Load(c.Keytab("nn"))
	if err != nil {
		return err
	}
	login := client.NewWithKeytab("nn/"+master, Realm, keys, conf, client.DisablePAFXFAST(true))
	if err := login.Login(); err != nil {
		return err
	}
	defer login.Destroy()
	return spnego.SetSPNEGOHeader(login, req, "HTTP/"+master)
}

// kerberosCommand is one of MIT's programs with the cluster's configuration.
func (c *Cluster) kerberosCommand(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	path, err := findSystemProgram(program)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = filepath.Dir(c.spec.kdcConf())
	cmd.Env = environment(mark(c.spec.Dir), "KRB5_CONFIG="+c.spec.krb5Conf(), "KRB5_KDC_PROFILE="+c.spec.kdcConf())
	return cmd, nil
}

// findSystemProgram also looks where only root's PATH does.
func findSystemProgram(name string) (string, error) {
	for _, candidate := range []string{name, filepath.Join("/usr/sbin", name)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; scripts/prepare says how to", name)
}
