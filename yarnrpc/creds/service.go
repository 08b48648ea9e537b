package creds

import (
	"net/netip"
	"strings"
)

// haPrefix marks the service of a token that all NameNodes of a nameservice take
// (HdfsConstants.HA_DT_SERVICE_PREFIX).
const haPrefix = "ha-hdfs:"

// IPService is the service of a server by its address: ip:port. Clusters use it
// unless hadoop.security.token.service.use_ip is false.
func IPService(address netip.AddrPort) string {
	return netip.AddrPortFrom(address.Addr().Unmap(), address.Port()).String()
}

// HostService is the service of a server by the host:port it is configured with,
// where hadoop.security.token.service.use_ip is false.
func HostService(address string) string { return strings.ToLower(address) }

// NameserviceService is the service of tokens for the NameNodes of a nameservice.
func NameserviceService(nameservice string) string { return haPrefix + nameservice }

// ListService is the service of a token that any of several servers takes, as the
// ResourceManagers of a cluster do.
func ListService(services ...string) string { return strings.Join(services, ",") }
