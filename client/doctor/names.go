package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// named is a server of the configuration.
type named struct {
	address   string // host:port
	property  string // the property with the address
	principal string // as configured, with _HOST; empty on an open cluster
}

// servers lists all servers that a submission uses.
func (v *visit) servers() []named {
	var all []named
	for _, rm := range v.rms {
		all = append(all, named{rm.Client, v.addressProperty(rm), v.conf.Get("yarn.resourcemanager.principal")})
	}
	_, addresses, property, err := v.nameNodes()
	if err == nil { // checkNameNodes reports the error
		for _, address := range addresses {
			all = append(all, named{address, property, v.conf.Get("dfs.namenode.kerberos.principal")})
		}
	}
	return all
}

// checkNames looks up the servers' hosts. With Kerberos it also looks up the names of their addresses.
func (v *visit) checkNames(ctx context.Context) []Finding {
	var hosts []string
	var servers []named
	for _, server := range v.servers() {
		host, _, err := net.SplitHostPort(server.address)
		if err == nil && !slices.Contains(hosts, host) {
			hosts, servers = append(hosts, host), append(servers, server)
		}
	}
	findings := make([]Finding, len(hosts))
	together(len(hosts), func(i int) {
		ctx, cancel := context.WithTimeout(ctx, v.patience())
		defer cancel()
		findings[i] = v.checkName(ctx, hosts[i], servers[i])
	})
	return findings
}

func (v *visit) checkName(ctx context.Context, host string, server named) Finding {
	addresses, text := []string{host}, host+" is an address: no name is looked up"
	if net.ParseIP(host) == nil {
		var err error
		addresses, err = v.Resolver.LookupHost(ctx, host)
		if unknown, is := errors.AsType[*net.DNSError](err); err != nil && !(is && unknown.IsNotFound) {
			return failed(fmt.Sprintf("%s cannot be looked up (%s): %s", host, v.place(server.property), oneLine(err)),
				"check that DNS answers (/etc/resolv.conf), or add the name to /etc/hosts")
		}
		if len(addresses) == 0 {
			return failed(fmt.Sprintf("no address is known for %s (%s)", host, v.place(server.property)), "correct the name, or add it to DNS or /etc/hosts")
		}
		text = host + " is " + strings.Join(addresses, ", ")
	}
	if !v.secure() || !strings.Contains(server.principal, "_HOST") {
		return ok(text)
	}
	backward, err := v.Resolver.LookupAddr(ctx, addresses[0])
	if err != nil || len(backward) == 0 {
		f := ok(fmt.Sprintf("%s, which has no name in DNS: Bobbin expects the principal %s", text, strings.Replace(server.principal, "_HOST", strings.ToLower(host), 1)))
		if net.ParseIP(host) != nil { // principals contain names
			f = warning(f.Text, "name the server by its host name ("+server.property+"), or add the address to DNS")
		}
		return f
	}
	name := strings.TrimSuffix(backward[0], ".")
	if strings.EqualFold(name, host) {
		return ok(text + ", and the address is that name")
	}
	return ok(fmt.Sprintf("%s, whose name is %s: the principal may contain either name (%s)", text, name, server.principal))
}
