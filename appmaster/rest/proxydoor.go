package rest

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Proxy describes YARN's web proxy.
type Proxy struct {
	// Addresses are the proxy's, and REST answers plain HTTP only to them. Every process that can open
	// connections from one of them counts as the proxy, as for every ApplicationMaster of YARN
	// (AmIpFilter).
	Addresses []netip.Addr
	// Users says that the proxy knows its users by Kerberos (hadoop.http.authentication.type is kerberos),
	// and passes their names on (WebAppProxyServlet's cookie). Otherwise browsers claim the names, and REST
	// ignores them. The proxy itself checks no ACL.
	Users bool
	// Anybody is the name of users whom the proxy does not know (hadoop.http.staticuser.user). ACLs may let
	// this name view, as on YARN's own pages.
	Anybody string
	// Changes lets Users whom the ACLs name change something through the proxy (rest.proxy.changes.enable).
	// To a browser the pages of all applications have the proxy's origin. So each of these pages can do
	// everything that the user who opens it may do.
	Changes bool
	// Origins are the proxy's addresses in browsers, as host:port. Only pages of these origins may change
	// something through the proxy.
	Origins []string
}

// proxyUser is the cookie in which the proxy names the user, encoded as in a URL's query.
const proxyUser = "proxy-user"

// proxyDoor is the door for YARN's proxy.
func (s *Server) proxyDoor(_ http.Header, r *http.Request) (caller, error) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.Contains(s.config.Proxy.Addresses, from.Addr().Unmap()) {
		return caller{}, &refusal{http.StatusForbidden, fmt.Sprintf("only YARN's web proxy may use plain HTTP, not %s: open the application's tracking URL, or use https with the cluster's token", from.Addr().Unmap())}
	}
	if !s.config.Proxy.Changes && !gets(r) {
		return caller{}, errViewsOnly
	}
	if s.config.Proxy.Users {
		return caller{proxied: true, name: toldUser(r)}, nil
	}
	return caller{proxied: true, name: s.config.Proxy.Anybody}, nil
}

// errViewsOnly refuses a change through the proxy.
var errViewsOnly = &refusal{http.StatusForbidden, fmt.Sprintf("through YARN's web proxy you can only view the cluster, because to a browser the pages of all applications are one site: use the bobbin command to change the cluster or to fetch results, or see %s", config.RESTProxyChanges)}

// toldUser returns the user that the proxy names; "" if it names none, or more than one.
func toldUser(r *http.Request) string {
	told := r.CookiesNamed(proxyUser)
	if len(told) != 1 {
		return ""
	}
	name, err := url.QueryUnescape(told[0].Value)
	if err != nil {
		return ""
	}
	return name
}
