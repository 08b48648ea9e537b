package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/clienttoamtest"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestTheLobby would catch a page that does not load before its ApplicationMaster leads; a client that waits, or is told
// that it has no access, while an ApplicationMaster waits for HDFS; one that takes this ApplicationMaster for one that leads
// and has no key; and a lobby that tells more than that, or ends with its port. A browser that knows only the site would be
// warned of an attacker while it waits for the next one.
func TestTheLobby(t *testing.T) {
	t.Parallel()
	authority, err := pki.NewAuthority("application_1700000000000_0007", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.IssueREST([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sites := sitecerttest.NewAuthority(t)
	certificate, key := sites.Write(t, "127.0.0.1")
	site, err := sitecert.Read(certificate, key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- NewLobby(site.Door(own.RESTServerTLS()), logger).Serve(ctx, l) }()
	strangers := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: sites.Roots},
	}}
	ask := func(url string) (*http.Response, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := strangers.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.Body.Close() != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	plain, secure := "http://"+l.Addr().String(), "https://"+l.Addr().String()
	for _, url := range []string{plain + "/jobs", secure + "/v1/overview", secure + "/page/none.js", plain + "//page//" + strings.Repeat("/", 1000)} {
		response, body := ask(url)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" || !strings.Contains(body, errNotLeading.Error()) {
			t.Errorf("%s: %s, %v: %s; want 503 that says to wait", url, response.Status, response.Header, body)
		}
	}
	for url, want := range map[string]string{plain + "/": "<!doctype html>", secure + "/": "<!doctype html>", plain + "/page/page.js": "function"} {
		response, body := ask(url)
		if response.StatusCode != http.StatusOK || !response.Close || !strings.Contains(strings.ToLower(body), want) {
			t.Errorf("%s: %s, %v: %.100s; want the page, which then asks on", url, response.Status, response.Header, body)
		}
	}
	// With a client's token of YARN, whose key the ApplicationMaster gets with its registration.
	_, err = clienttoam.Dial(t.Context(), l.Addr().String(), clienttoamtest.Token(t, []byte("key"), records.ApplicationAttemptID{}, "bob"))
	if !errors.Is(err, clienttoam.ErrNoKey) || errors.Is(err, clienttoam.ErrKeyLost) {
		t.Errorf("with a token of YARN: %v, want ErrNoKey and not ErrKeyLost", err)
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("serve = %v", err)
	}
}
