package bobbintest

import (
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// Browser is a browser that has come by a link of `bobbin open`: it has a cookie, and the value that belongs to it.
type Browser struct {
	Origin string // of the page: https://host:port
	Key    string // of the link, which is used up
	CSRF   string
	web    *http.Client
}

// Link is a link of `bobbin open`.
type Link struct {
	URL         string
	Fingerprint string // of the application's certificate; "": browsers get the site's
	Site        string // why they do not get the site's, if there is one
}

// Link asks for a link to the page of an application.
func (u *User) Link(t testing.TB, application string) (link Link) {
	t.Helper()
	got := u.Run(t, "open", "-o", "json", application)
	if err := json.Unmarshal([]byte(got.Stdout), &link); got.Code != 0 || err != nil {
		t.Fatalf("open %s: %v: %s", application, err, got)
	}
	return link
}

// Browse opens the page of an application, as the user's browser does.
func (u *User) Browse(t testing.TB, application string) *Browser {
	t.Helper()
	link := u.Link(t, application)
	if len(link.Fingerprint) != 64 {
		t.Fatalf("open %s: %+v", application, link)
	}
	page, key, _ := strings.Cut(link.URL, "#")
	at, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &Browser{Origin: "https://" + at.Host, Key: key, web: &http.Client{
		Timeout: requestTimeout, Jar: jar,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}}, // the user accepts the certificate
	}}
	t.Cleanup(b.web.CloseIdleConnections)
	if answer := b.Ask(t, http.MethodGet, at.Path, nil); answer.Status != http.StatusOK || !strings.HasPrefix(answer.Type, "text/html") {
		t.Fatalf("the page of the link: %s", answer)
	}
	answer := b.Exchange(t)
	var access restapi.Access
	if err := json.Unmarshal([]byte(answer.Body), &access); answer.Status != http.StatusOK || err != nil || access.CSRF == nil || access.User != u.Name {
		t.Fatalf("the exchange of the link: %v: %s", err, answer)
	}
	b.CSRF = *access.CSRF
	return b
}

// Exchange sends the key of the link, as the page does.
func (b *Browser) Exchange(t testing.TB) Answer {
	t.Helper()
	return b.Ask(t, http.MethodPost, "/access", http.Header{"Authorization": {restapi.SchemeLink + " " + b.Key}})
}

// Ask sends a request of the page itself, with the cookie and these headers.
func (b *Browser) Ask(t testing.TB, method, path string, header http.Header) Answer {
	t.Helper()
	sent := http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {b.Origin}}
	maps.Copy(sent, header)
	answer, err := send(t.Context(), b.web, method, b.Origin+path, sent, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// Change sends a request with the value that belongs to the cookie.
func (b *Browser) Change(t testing.TB, method, path string) Answer {
	t.Helper()
	return b.Ask(t, method, path, http.Header{restapi.HeaderCSRF: {b.CSRF}})
}

// CheckForgeries sends requests that other pages and other servers can make this browser send, or send with its cookie.
// It would catch one that is done.
func (b *Browser) CheckForgeries(t testing.TB, method, path string) {
	t.Helper()
	for name, header := range map[string]http.Header{
		"with the cookie alone":     {},
		"with an invented value":    {restapi.HeaderCSRF: {strings.Repeat("A", len(b.CSRF))}},
		"by a page of another site": {restapi.HeaderCSRF: {b.CSRF}, "Origin": {"https://evil.test"}, "Sec-Fetch-Site": {"cross-site"}},
		"by a page of another port": {restapi.HeaderCSRF: {b.CSRF}, "Origin": {b.Origin + "0"}, "Sec-Fetch-Site": {"same-site"}},
	} {
		if answer := b.Ask(t, method, path, header); answer.Status != http.StatusForbidden {
			t.Errorf("%s %s %s: %s", method, path, name, answer)
		}
	}
	if answer := b.Exchange(t); answer.Status != http.StatusForbidden {
		t.Errorf("the link opens twice: %s", answer)
	}
}
