package kerberos

import (
	"net"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
)

// Default ports of Kerberos' services.
const (
	kdcPort     = "88"
	adminPort   = "749"
	kpasswdPort = "464"
)

func readRealm(section *relation) config.Realm {
	realm := config.Realm{
		Realm:         section.tag,
		KDC:           addresses(section, "kdc", kdcPort),
		MasterKDC:     append(addresses(section, "primary_kdc", kdcPort), addresses(section, "master_kdc", kdcPort)...),
		AdminServer:   addresses(section, "admin_server", adminPort),
		KPasswdServer: addresses(section, "kpasswd_server", kpasswdPort),
	}
	if domain := section.first("default_domain"); domain != nil {
		realm.DefaultDomain = domain.value
	}
	if len(realm.KPasswdServer) == 0 {
		for _, server := range realm.AdminServer {
			if host, _, err := net.SplitHostPort(server); err == nil {
				realm.KPasswdServer = append(realm.KPasswdServer, net.JoinHostPort(host, kpasswdPort))
			}
		}
	}
	return realm
}

// addresses returns host:port for each value of a tag. It leaves out proxies that speak
// Kerberos over HTTPS, because gokrb5 cannot use them. If a realm has no other KDC, a login
// asks DNS.
func addresses(section *relation, tag, port string) (found []string) {
	for _, r := range section.all(tag) {
		value := strings.TrimSpace(strings.TrimSuffix(r.value, "*")) // a final marker in the wrong place
		for _, transport := range []string{"tcp/", "udp/"} {
			value = strings.TrimPrefix(value, transport)
		}
		if r.section || value == "" || strings.ContainsAny(value, "/ \t") {
			continue
		}
		if host, given, err := net.SplitHostPort(value); err != nil || given == "" {
			if err == nil {
				value = host
			}
			value = net.JoinHostPort(strings.Trim(value, "[]"), port)
		}
		found = append(found, value)
	}
	return found
}

// readDomains reads [domain_realm], where "example.com" means that host and its whole
// domain, and ".example.com" only the domain. gokrb5 needs both entries.
func readDomains(section *relation, to config.DomainRealm) {
	if section == nil {
		return
	}
	for _, r := range section.children {
		domain := strings.ToLower(r.tag)
		if _, there := to[domain]; !there && !r.section {
			to[domain] = r.value
		}
	}
	for _, r := range section.children {
		domain := strings.ToLower(r.tag)
		if _, there := to["."+domain]; !there && !r.section && !strings.HasPrefix(domain, ".") {
			to["."+domain] = to[domain]
		}
	}
}
