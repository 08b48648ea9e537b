package rest

import (
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// gets reports whether a link, a picture or a script of another site can cause the request without
// permission.
func gets(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// checkOrigin refuses requests that the page of another site can cause: for changes, for running programs,
// and for data of the owner.
//
// The proxy passes on only "Origin" and "Content-Type" of the headers that browsers set. If changes through
// it are allowed, they come by PUT with the proxy's origin, or by a GET that no page of another site can
// cause. Everything else through the proxy must be a view.
func (s *Server) checkOrigin(r *http.Request, c caller, need access) error {
	origin := r.Header.Get("Origin")
	get := gets(r)
	if get && need != own && need != inspect && !c.token && !declared(r) {
		return &refusal{http.StatusForbidden, "this GET changes or runs something, and needs the header \"Content-Type: application/json\", which pages of other sites cannot send: add the header, or use POST, or PUT or PATCH on the job"}
	}
	link := get && need == modify
	if c.proxied {
		own := slices.ContainsFunc(s.config.Proxy.Origins, func(own string) bool { return sameHost(origin, own) })
		switch {
		case !s.config.Proxy.Changes || !s.config.Proxy.Users || r.Method != http.MethodPut && !link:
			return errViewsOnly
		case !own && (origin != "" || !link): // browsers send no Origin with a GET to the same site
			return &refusal{http.StatusForbidden, fmt.Sprintf("only pages of YARN's web proxy may change the cluster, not pages of %q", origin)}
		}
		return nil
	}
	return s.checkSite(r)
}

// checkSite refuses a request of a page that is not ours.
func (s *Server) checkSite(r *http.Request) error {
	origin := r.Header.Get("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" && site != "none" || origin != "" && !sameHost(origin, r.Host) {
		return &refusal{http.StatusForbidden, fmt.Sprintf("pages of other sites may not send this request: this page is from %q", origin)}
	}
	return nil
}

// declared reports whether a request has a header that browsers send for a page of another site only with
// the server's permission (Fetch, CORS-safelisted request-header).
func declared(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// sameHost reports whether an origin is the server at host:port, or at host with the default port of the
// origin's scheme.
func sameHost(origin, server string) bool {
	from, err := url.Parse(origin)
	if err != nil || from.Host == "" {
		return false
	}
	if strings.EqualFold(from.Host, server) {
		return true
	}
	port, usual := map[string]string{"http": "80", "https": "443"}[from.Scheme]
	return usual && from.Port() == "" && strings.EqualFold(net.JoinHostPort(from.Hostname(), port), server)
}
