package appmaster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// proxies returns the addresses from which YARN's web proxy may send requests to REST: those of
// yarn.web-proxy.address, or otherwise of all ResourceManagers' web servers (AmFilterInitializer). If a
// host cannot be resolved, REST refuses the proxy there, and the application runs nevertheless. own is the
// node's name.
func proxies(ctx context.Context, conf *hadoopconf.Conf, own string, logger logrus.FieldLogger) []netip.Addr {
	const unknown = "cannot find the address of YARN's web proxy, and REST will refuse the proxy"
	hosts, err := proxyHosts(conf)
	if err != nil {
		logger.WithError(err).Warn(unknown)
		return nil
	}
	var addresses []netip.Addr
	for _, host := range hosts {
		found, err := resolve(ctx, host, own)
		if err != nil {
			logger.WithError(err).WithField("host", host).Warn(unknown)
		}
		for _, address := range found {
			if !slices.Contains(addresses, address) {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses
}

func proxyHosts(conf *hadoopconf.Conf) ([]string, error) {
	if address := conf.Get("yarn.web-proxy.address"); address != "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil { // Hadoop accepts an address without a port
			host = address
		}
		return []string{host}, nil
	}
	rms, err := conf.ResourceManagers()
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, rm := range rms {
		web, err := url.Parse(rm.Webapp)
		if err != nil {
			return nil, fmt.Errorf("read the address of YARN's web server: %w", err)
		}
		hosts = append(hosts, web.Hostname())
	}
	return hosts, nil
}

// resolve returns the addresses of a host. The wildcard address, Hadoop's default for a ResourceManager,
// means this node (NetUtils#getConnectAddress).
func resolve(ctx context.Context, host, own string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, address := range found {
		if address = address.Unmap(); !address.IsUnspecified() {
			addresses = append(addresses, address)
			continue
		}
		addresses = append(addresses, netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback())
		if host != own {
			local, err := resolve(ctx, own, own)
			if err != nil {
				return nil, err
			}
			addresses = append(addresses, local...)
		}
	}
	return addresses, nil
}

// trackingURL is the link to the application through YARN's proxy, as YARN makes it (RMAppAttemptImpl#generateProxyUriWithScheme),
// for a process that cannot ask YARN. base is the path of the application there. Of several ResourceManagers it is the first: one in
// standby sends browsers to the active one. "" if the configuration names no host that others reach.
func trackingURL(hadoop *hadoopconf.Conf, base string) string {
	origins := proxyOrigins(hadoop)
	if base == "" || len(origins) == 0 {
		return ""
	}
	link := url.URL{Scheme: webScheme(hadoop), Host: origins[0], Path: strings.TrimSuffix(base, "/") + "/"}
	if address, err := netip.ParseAddr(link.Hostname()); link.Hostname() == "" || err == nil && address.IsUnspecified() {
		return "" // Hadoop's default, which means the machine itself
	}
	return link.String()
}

// webScheme is the scheme of YARN's web servers.
func webScheme(hadoop *hadoopconf.Conf) string {
	if hadoop.Get("yarn.http.policy") == "HTTPS_ONLY" {
		return "https"
	}
	return "http"
}

// proxyOrigins returns the addresses by which browsers reach YARN's proxy, as host:port.
func proxyOrigins(hadoop *hadoopconf.Conf) []string {
	if address := hadoop.Get("yarn.web-proxy.address"); address != "" {
		return []string{address}
	}
	rms, err := hadoop.ResourceManagers()
	if err != nil { // proxies has logged the error
		return nil
	}
	var origins []string
	for _, rm := range rms {
		if web, err := url.Parse(rm.Webapp); err == nil {
			origins = append(origins, web.Host)
		}
	}
	return origins
}
