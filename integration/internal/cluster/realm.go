package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The realms of secure clusters. One KDC serves both. The second one exists only with Kerberos.Partners, and the first
// one trusts it.
const (
	Realm        = "BOBBIN.TEST"
	PartnerRealm = "PARTNER.TEST"
)

// realms returns the realms that the KDC serves.
func (s *spec) realms() []string {
	if len(s.Kerberos.Partners) == 0 {
		return []string{Realm}
	}
	return []string{Realm, PartnerRealm}
}

// partner returns the full name of a user of the second realm, which is also the name of its keytab.
func partner(name string) string { return name + "@" + PartnerRealm }

// writeRealms writes the configuration of the KDC and of its clients.
func (s *spec) writeRealms() error {
	d, err := s.daemon(keyCenterName)
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.kdcConf())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	ticketLife, renewLife := int(s.Kerberos.TicketLife.Seconds()), int(s.Kerberos.RenewLife.Seconds())
	var krb5, kdc strings.Builder
	fmt.Fprintf(&krb5, `[libdefaults]
	default_realm = %s
	dns_lookup_kdc = false
	dns_lookup_realm = false
	rdns = false
	udp_preference_limit = 1
	ticket_lifetime = %ds
	renew_lifetime = %ds
	clockskew = %d
[domain_realm]
	%s = %s
[realms]
`, Realm, ticketLife, renewLife, int(s.Kerberos.ClockSkew.Seconds()), master, Realm)
	fmt.Fprintf(&kdc, `[kdcdefaults]
	kdc_listen = %[1]s
	kdc_tcp_listen = %[1]s
[logging]
	kdc = STDERR
[realms]
`, d.Web)
	for _, realm := range s.realms() {
		fmt.Fprintf(&krb5, "\t%s = {\n\t\tkdc = %s\n\t}\n", realm, d.Web)
		fmt.Fprintf(&kdc, `	%[1]s = {
		database_name = %[2]s/%[1]s.database
		key_stash_file = %[2]s/%[1]s.stash
		acl_file = %[2]s/none
		max_life = %[3]ds
		max_renewable_life = %[4]ds
		supported_enctypes = aes256-cts:normal aes128-cts:normal aes256-sha2:normal aes128-sha2:normal
	}
`, realm, dir, ticketLife, renewLife)
	}
	for path, text := range map[string]string{s.krb5Conf(): krb5.String(), s.kdcConf(): kdc.String(), s.webSecret(): rand.Text()} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// makeRealms makes the KDC's databases with all principals and their keytabs, unless they exist.
func (c *Cluster) makeRealms(ctx context.Context) error {
	if _, err := os.Stat(c.spec.keytab("alice")); err == nil {
		return nil
	}
	for _, realm := range c.spec.realms() {
		// The database is on this machine and lives for a test, so its master key need not be secret.
		create, err := c.kerberosCommand(ctx, "kdb5_util", "create", "-s", "-P", "bobbin", "-r", realm)
		if err != nil {
			return err
		}
		if out, err := create.CombinedOutput(); err != nil {
			return fmt.Errorf("make the kdc's database of %s: %w\n%s", realm, err, lastLines(out, 10))
		}
	}
	if err := c.makePartners(ctx); err != nil {
		return err
	}
	var commands []string
	for _, name := range services() {
		hosts := []string{master}
		if name == "HTTP" {
			hosts = c.spec.webHosts()
		}
		for _, host := range hosts {
			commands = append(commands, "addprinc -randkey "+name+"/"+host, "ktadd -q -k "+c.spec.keytab(name)+" "+name+"/"+host)
		}
	}
	for _, name := range c.spec.users() { // last, because alice's keytab marks the end of this function
		commands = append(commands, "addprinc -randkey "+name)
	}
	for _, name := range slices.Backward(c.spec.users()) {
		commands = append(commands, "ktadd -q -k "+c.spec.keytab(name)+" "+name)
	}
	return c.Kadmin(ctx, commands...)
}

// makePartners makes the users of the second realm, and the key that both realms share. With that key, a client of the
// second realm gets tickets for the first.
func (c *Cluster) makePartners(ctx context.Context) error {
	if len(c.spec.Kerberos.Partners) == 0 {
		return nil
	}
	trust := "addprinc -pw bobbin krbtgt/" + Realm + "@" + PartnerRealm
	commands := []string{trust}
	for _, name := range c.spec.Kerberos.Partners {
		commands = append(commands, "addprinc -randkey "+partner(name), "ktadd -q -k "+c.spec.keytab(partner(name))+" "+partner(name))
	}
	if err := c.kadmin(ctx, PartnerRealm, commands...); err != nil {
		return err
	}
	return c.Kadmin(ctx, trust)
}

// Kadmin runs commands of kadmin.local on the KDC's database of Realm. It works whether or not the KDC runs.
func (c *Cluster) Kadmin(ctx context.Context, commands ...string) error {
	return c.kadmin(ctx, Realm, commands...)
}

func (c *Cluster) kadmin(ctx context.Context, realm string, commands ...string) error {
	cmd, err := c.kerberosCommand(ctx, "kadmin.local", "-r", realm)
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run kadmin.local: %w\n%s", err, lastLines(stderr.Bytes(), 10))
	}
	for line := range strings.Lines(stderr.String()) { // kadmin.local exits with 0 even after a command that fails
		if !strings.HasPrefix(line, "No policy specified") {
			return fmt.Errorf("run kadmin.local: %s", strings.TrimSpace(line))
		}
	}
	return nil
}

// Kinit gets a ticket for a principal of the cluster with its keytab, and stores it in the cache file. It runs MIT's
// kinit with these further arguments.
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

// keyCenterCommand returns the command that starts the KDC.
func (c *Cluster) keyCenterCommand(ctx context.Context) (*exec.Cmd, error) {
	args := []string{"-n"}
	for _, realm := range c.spec.realms() {
		args = append(args, "-r", realm)
	}
	return c.kerberosCommand(ctx, "krb5kdc", args...)
}

// kerberosCommand returns a command of one of MIT's programs with the cluster's configuration.
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

// findSystemProgram also searches the folders that only root's PATH contains.
func findSystemProgram(name string) (string, error) {
	for _, candidate := range []string{name, filepath.Join("/usr/sbin", name)} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed; run scripts/prepare --all, which installs it or prints the command to do so", name)
}
