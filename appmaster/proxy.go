package appmaster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"

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
