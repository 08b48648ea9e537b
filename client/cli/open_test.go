package cli

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// TestAPageIsOpened would catch a link that opens nothing, or that opens the application of another command; and a
// secret among the words for people, which end up in logs; and a link whose life is told by two clocks, as "within -3m0s".
func TestAPageIsOpened(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	for _, line := range []string{"open " + s.id.String(), "open -id " + s.id.String(), "open --print", "session open", "session open -m " + s.access.Address} {
		code, stdout, stderr := command(t, s.env, strings.Fields(line)...)
		link := strings.TrimSpace(stdout)
		at, key, _ := strings.Cut(link, "#")
		if code != ExitOK || at != "https://"+s.access.Address+"/open" || strings.Contains(stderr, key) || !strings.Contains(stderr, "SHA-256") || !strings.Contains(stderr, "once, within a minute,") {
			t.Fatalf("%s: exit code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
		if got := exchange(t, s.access.Address, key); got != http.StatusOK {
			t.Errorf("%s: the link is answered with %d", line, got)
		}
		if got := exchange(t, s.access.Address, key); got != http.StatusForbidden {
			t.Errorf("%s: the second time the link is answered with %d", line, got)
		}
	}
	code, stdout, stderr := command(t, s.env, "open", "-o", "json")
	var told struct{ Application, URL, Fingerprint string }
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != ExitOK || stderr != "" || told.Application != s.id.String() || len(told.Fingerprint) != 64 || !strings.Contains(told.URL, "/open#") {
		t.Errorf("exit code %d, stdout %q, stderr %q: %v", code, stdout, stderr, err)
	}
	for line, want := range map[string]string{
		"open 17":                              "is no application id",
		"open " + s.id.String() + " x":         "needs one application id",
		"session open " + s.id.String():        "-id " + s.id.String(),
		"open -id x " + s.id.String():          "names an application twice",
		"open -m 127.0.0.1:1 " + s.id.String(): "names an application twice",
	} {
		if code, stdout, stderr := command(t, s.env, strings.Fields(line)...); code != ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
	}
}

// TestTheSitesCertificateNeedsNoFingerprint would catch a user who is asked to compare the fingerprint of a certificate that
// the browser knows; one who is not asked although the browser gets the application's; and commands of bobbin that take
// the site's certificate for an attacker's.
func TestTheSitesCertificateNeedsNoFingerprint(t *testing.T) {
	authority := sitecerttest.NewAuthority(t)
	for name, test := range map[string]struct {
		hosts       []string
		fingerprint int
		says        string
	}{
		"it covers the host":     {[]string{"127.0.0.1"}, 0, ""},
		"it covers another host": {[]string{"*.cluster.example", "node5"}, 64, "The site's certificate is not for 127.0.0.1, but for *.cluster.example, node5 (security.ssl.rest.certificate).\n"},
	} {
		t.Run(name, func(t *testing.T) {
			certificate, key := authority.Write(t, test.hosts...)
			site, err := sitecert.Read(certificate, key, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			s := startFakeSessionWith(t, site)
			s.write(t, nil)
			code, stdout, stderr := command(t, s.env, "open", "-o", "json")
			var told struct{ Fingerprint, Site string }
			if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != ExitOK || len(told.Fingerprint) != test.fingerprint || (told.Site == "") != (test.says == "") {
				t.Errorf("exit code %d, stdout %q, stderr %q: %v", code, stdout, stderr, err)
			}
			if code, _, stderr := command(t, s.env, "open"); code != ExitOK || !strings.Contains(stderr, test.says) || strings.Contains(stderr, "SHA-256") != (test.fingerprint > 0) {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
			web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authority.Roots}}}
			answer, err := getFrom(t, web, "https://"+s.access.Address+"/open")
			if (err == nil) != (test.fingerprint == 0) {
				t.Errorf("a browser that knows the site gets %d, %v", answer, err)
			}
		})
	}
}

// getFrom returns the status of the answer to a GET.
func getFrom(t *testing.T, web *http.Client, address string) (status int, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := web.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// exchange does what the page of a link does: it sends the key, and shows the cookie that it gets. It returns the status of the
// exchange.
func exchange(t *testing.T, address, key string) int {
	t.Helper()
	send := func(method, path, header, value string) (int, []string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header, value)
		web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}}}
		answer, err := web.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode, answer.Header["Set-Cookie"]
	}
	status, cookies := send(http.MethodPost, "/access", "Authorization", "Bobbin-Link "+key)
	if len(cookies) > 0 {
		cookie, _, _ := strings.Cut(cookies[0], ";")
		if status, _ := send(http.MethodGet, "/access", "Cookie", cookie); status != http.StatusOK {
			t.Errorf("with the cookie of the link: status %d", status)
		}
	}
	return status
}

// TestTheBrowsersCommandLineHasNoSecret would catch a key that other users of the machine can read, in the browser's
// command line or in the file.
func TestTheBrowsersCommandLineHasNoSecret(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	said := filepath.Join(home, "said")
	if err := errors.Join(
		syscall.Mkfifo(said, 0o600),
		os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >"+said+"\n"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	c := call{getenv: func(name string) string { return map[string]string{"HOME": home, "DISPLAY": ":0"}[name] }, Streams: run.Streams{}}
	const link = "https://node5:4711/open#secret"
	path := ""
	for range 2 { // the second page replaces the first
		if err := c.showInBrowser(link); err != nil {
			t.Fatal(err)
		}
		words, err := os.ReadFile(said) // waits for xdg-open
		if err != nil {
			t.Fatal(err)
		}
		path = strings.TrimSpace(string(words))
	}
	page, err := os.ReadFile(path)
	if err != nil || strings.Contains(path, "secret") || !strings.Contains(string(page), "0;url="+link) {
		t.Errorf("xdg-open gets %q, which has %q: %v", path, page, err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v are left: %v", left, err)
	}
	bare := call{getenv: func(string) string { return "" }}
	if err := bare.showInBrowser(link); err == nil {
		t.Error("a browser is started without a display")
	}
}
