package creds

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// haPrefix marks the service of a token that all NameNodes of a nameservice take
// (HdfsConstants.HA_DT_SERVICE_PREFIX).
const haPrefix = "ha-hdfs:"

// IPService returns the service of a server by its address: ip:port. Clusters use it
// unless hadoop.security.token.service.use_ip is false.
func IPService(address netip.AddrPort) string {
	return netip.AddrPortFrom(address.Addr().Unmap(), address.Port()).String()
}

// hostService returns the service of a server by its configured host:port, for clusters
// where hadoop.security.token.service.use_ip is false.
func hostService(address string) string { return strings.ToLower(address) }

// NameserviceService returns the service of tokens for the NameNodes of a
// nameservice.
func NameserviceService(nameservice string) string { return haPrefix + nameservice }

// ListService returns the service of a token that several servers accept, such as the
// ResourceManagers of a cluster.
func ListService(services ...string) string { return strings.Join(services, ",") }

// ServiceOf returns the service of a server at host:port
// (SecurityUtil.buildTokenService). useIP is hadoop.security.token.service.use_ip, true
// by default. With useIP, ServiceOf looks up the name, and the service has the IP
// address.
func ServiceOf(ctx context.Context, address string, useIP bool) (string, error) {
	if !useIP {
		return hostService(address), nil
	}
	resolved, err := resolve(ctx, address)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", address, err)
	}
	return IPService(resolved), nil
}

// resolve looks an address up, and prefers IPv4, as Java does.
func resolve(ctx context.Context, address string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	ip := found[0]
	for _, other := range found {
		if other.Unmap().Is4() {
			ip = other
			break
		}
	}
	return netip.AddrPortFrom(ip, uint16(port)), nil
}
