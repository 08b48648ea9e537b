package rest

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// openPage is the page that a link opens. Its script takes the key from the URL's fragment and exchanges it for a
// cookie. In a path or a query the key would be in the logs of servers between, and in the browser's history; a
// program that looks at links in a chat or in a mail would use it up by a GET; and a browser does not send a
// SameSite=Strict cookie when it follows a redirection from a link on another site.
//
//go:embed open.html
var openPage []byte

// openPolicy allows openPage its own script and style, and nothing else.
func openPolicy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		hashOf(openPage, "script"), hashOf(openPage, "style"))
}

// hashOf is the hash of the only element of a kind in a page (CSP, hash-source).
func hashOf(page []byte, element string) string {
	_, after, _ := strings.Cut(string(page), "<"+element+">")
	content, _, _ := strings.Cut(after, "</"+element+">")
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// isOpenPage reports whether a request is for openPage, which needs no proof of identity.
func isOpenPage(r *http.Request) bool {
	return gets(r) && strings.TrimPrefix(r.URL.Path, "/v1") == restapi.OpenPath
}

// open answers GET /open, which is the same for everybody.
func (s *Server) open(r *http.Request) (any, error) {
	if callerOf(r.Context()).proxied {
		return nil, errViewsOnly
	}
	return raw{contentType: "text/html; charset=UTF-8", header: http.Header{"Content-Security-Policy": {openPolicy()}}, body: openPage}, nil
}

// offerLink answers POST /access/links.
func (s *Server) offerLink(r *http.Request) (any, error) {
	c := callerOf(r.Context())
	if c.browser {
		return nil, &refusal{http.StatusForbidden, "a browser cannot make a link for another browser: " + s.way()}
	}
	key, end := s.browsers.offer(c, time.Now())
	link := restapi.Link{Address: s.address(r), Key: key, Until: end.UnixMilli()}
	link.Fingerprint, link.Site = s.certificate(link.Address, time.Now())
	return link, nil
}

// admitBrowser answers POST /access. The request has waited for nothing since the door has looked at its link.
func (s *Server) admitBrowser(r *http.Request) (any, error) {
	c := callerOf(r.Context())
	if c.link == (digest{}) {
		return nil, &refusal{http.StatusForbidden, "this request needs the key of a link: " + s.way()}
	}
	cookie, csrf, end, err := s.browsers.admit(c.link, r.Header.Get(restapi.HeaderBrowser), time.Now())
	if err != nil { // another browser has come by it, or a request has used it up meanwhile
		s.logger.WithError(err).WithFields(logrus.Fields{"caller": c.String(), "peer": r.RemoteAddr}).Warn("browser is not let in")
		return nil, &refusal{http.StatusForbidden, err.Error()}
	}
	c.link = digest{}
	s.logger.WithFields(logrus.Fields{"caller": c.String(), "peer": r.RemoteAddr, "until": end}).Info("browser is let in")
	c.browser, c.csrf, c.until = true, true, end
	answer := s.accessOf(c)
	answer.CSRF = &csrf
	return withCookie(answer, s.browsers.cookie, cookie, int(browserTime/time.Second))
}

// access answers GET /access.
func (s *Server) access(r *http.Request) (any, error) {
	c := callerOf(r.Context())
	answer := s.accessOf(c)
	if c.browser && c.csrf {
		csrf := r.Header.Get(restapi.HeaderCSRF)
		answer.CSRF = &csrf
	}
	return answer, nil
}

// leave answers DELETE /access: the browser's cookie ends.
func (s *Server) leave(r *http.Request) (any, error) {
	if !callerOf(r.Context()).browser {
		return nil, &refusal{http.StatusConflict, "this request has no cookie that could end"}
	}
	s.browsers.leave(r)
	return withCookie(restapi.Empty{}, s.browsers.cookie, "", -1)
}

// withCookie is an answer that sets a cookie for some seconds. -1 ends the cookie.
func withCookie(answer any, name, value string, seconds int) (any, error) {
	cookie := http.Cookie{Name: name, Value: value, MaxAge: seconds, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	body, err := json.Marshal(answer)
	return raw{contentType: "application/json; charset=UTF-8", header: http.Header{"Set-Cookie": {cookie.String()}}, body: body}, err
}

func (s *Server) accessOf(c caller) restapi.Access {
	rights, user := s.config.Rights, c.name
	if c.token {
		user = rights.Owner
	}
	a := restapi.Access{User: user, Change: !c.proxied && rights.allow(c, modify), Run: rights.allow(c, run) && s.config.Session != nil, Until: -1, How: s.command()}
	if c.browser {
		a.Until = c.until.UnixMilli()
	}
	return a
}

// command is the command that makes a link.
func (s *Server) command() string {
	return strings.TrimSpace("bobbin open " + s.config.Application)
}

// way says how a user gets a link.
func (s *Server) way() string {
	return s.command() + " gives you one, on a machine where you use bobbin"
}

// address is host:port of the door for TLS, by the name in its certificate.
func (s *Server) address(r *http.Request) string {
	local, is := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !is {
		return r.Host
	}
	host, port, err := net.SplitHostPort(local.String())
	if err != nil {
		return r.Host
	}
	if s.config.Host != nil {
		host = s.config.Host(r.Context())
	}
	return net.JoinHostPort(host, port)
}

// certificate is how users recognize the certificate of the door for TLS at an address: by nothing if it is the site's.
// If it is the application's although there is one of the site, site says so.
func (s *Server) certificate(address string, now time.Time) (fingerprint string, site *restapi.LinkSite) {
	host, _, err := net.SplitHostPort(address)
	if err == nil && s.config.Site.Serves(host, now) {
		return "", nil
	}
	if c := s.config.Site; c != nil {
		names := c.Names()
		site = &restapi.LinkSite{Names: names[:min(len(names), restapi.MaxLinkNames)], From: c.Begins().UnixMilli(), Until: c.Ends().UnixMilli()}
	}
	return s.fingerprint(), site
}

// fingerprint is the SHA-256 of the application's certificate, by which users recognize it in a browser.
func (s *Server) fingerprint() string {
	if s.config.TLS == nil || len(s.config.TLS.Certificates) == 0 {
		return ""
	}
	sum := sha256.Sum256(s.config.TLS.Certificates[0].Certificate[0])
	return hex.EncodeToString(sum[:])
}
