package web

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestThePageOfASecureCluster would catch a page on a cluster with Kerberos that a browser with a ticket cannot see through YARN's
// proxy, that does not know who looks, or does not tell how long the application's tokens live; a link of `bobbin open` that opens
// nothing there; and a certificate of the site that a browser refuses which trusts the site's authority.
func TestThePageOfASecureCluster(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.SecurePair) // its web servers take tickets
	u := suite.UserOf(t, c, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	authority := sitecerttest.NewAuthority(t)
	certificate, key := authority.Write(t, "127.0.0.1", "127.0.0.2", "127.0.0.3")
	application := u.StartSession(t, "-jm", "256m", "-tm", "512m",
		"-D", "security.ssl.rest.certificate="+certificate, "-D", "security.ssl.rest.key="+key)

	t.Run("through the link", func(t *testing.T) {
		b := open(t, trusting(t, authority)...)
		door := b.door(t, u, application)
		b.visit(t, "secure-door", door, "Delegation tokens", "HDFS_DELEGATION_TOKEN", " left, until ")
		b.visit(t, "secure-session", door+"#/session", "This browser has the rights of "+u.Name, "Stop the session…")
	})
	t.Run("through the proxy", func(t *testing.T) {
		rm, err := c.ActiveRMWebAddress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b := open(t, chromedp.Env(u.Environment()...), chromedp.Flag("auth-server-allowlist", "*"))
		base := "http://" + rm + "/proxy/" + application + "/"
		b.keepsTo(base)
		b.misses("/favicon.ico")                                         // Chromium asks for it beside a refusal, which names no icon
		wait.Satisfied(t, "the browser sends its ticket", func() error { // Chromium loads GSSAPI at the first challenge, to which it has no answer yet
			b.goes(t, base)
			return b.has([]string{"Overview"})
		})
		b.forgets()
		b.visit(t, "secure-proxy", base, "Delegation tokens", "HDFS_DELEGATION_TOKEN", " left, until ")
		b.visit(t, "secure-proxy-session", base+"#/session", "This page only looks here", "You are "+u.Name+".")
	})
	t.Run("without a keytab", func(t *testing.T) { knowsWithoutYARN(t, u, application) })
}

// knowsWithoutYARN would catch a master that cannot ask YARN, because it has no keytab, and does not know its queue, the link through
// YARN's proxy, or that another master has led before.
func knowsWithoutYARN(t *testing.T, u *bobbintest.User, application string) {
	about := func(m *bobbintest.Master) (a restapi.Application) {
		wait.For(t, "the master tells about the application", func() (bool, error) {
			err := m.Get(t.Context(), "/application", &a)
			return err == nil, err
		})
		return a
	}
	master := u.Master(t, application)
	first := about(master)
	report := u.Report(t, application)
	if first.Queue != report.Queue || first.Queue == "" || len(first.Attempts) != 1 || first.Attempts[0].State != string(records.AttemptRunning) {
		t.Errorf("the master says %+v; YARN says queue %q", first, report.Queue)
	}
	if !strings.HasSuffix(first.TrackingURL, "/proxy/"+application+"/") {
		t.Errorf("the link is %q, YARN's is %q", first.TrackingURL, report.TrackingURL)
	} else if a := u.Curl(t, "--location", first.TrackingURL+"application"); a.Status != http.StatusOK || !strings.Contains(a.Body, application) {
		t.Errorf("the link %s leads to %s", first.TrackingURL, a)
	}
	bobbintest.ProcessesIn(t, application, bobbintest.ApplicationMaster)[0].Kill(t)
	second := about(u.Successor(t, application, master))
	if len(second.Attempts) != 2 {
		t.Fatalf("the second master lists %+v", second.Attempts)
	}
	last, own := second.Attempts[0], second.Attempts[1]
	if last.State != "" || last.Node != first.Attempts[0].Node || last.Started < first.Started || last.Started > own.Started || !strings.Contains(last.Diagnostics, "it led") {
		t.Errorf("the first master was %+v, and the second one says %+v", first.Attempts[0], last)
	}
	if own.State != string(records.AttemptRunning) || own.Started != second.Started || second.Queue != first.Queue {
		t.Errorf("the second master says %+v", second)
	}
}

// trusting are the options of a browser that trusts only this authority, besides those that it is made with.
func trusting(t *testing.T, authority *sitecerttest.Authority) []chromedp.ExecAllocatorOption {
	t.Helper()
	home, file := t.TempDir(), filepath.Join(t.TempDir(), "root.pem")
	if err := os.WriteFile(file, authority.RootPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-N", "--empty-password"}, {"-A", "-n", "site", "-t", "C,,", "-i", file}} {
		if out, err := exec.CommandContext(t.Context(), "certutil", append(args, "-d", "sql:"+store)...).CombinedOutput(); err != nil {
			t.Fatalf("certutil (scripts/prepare --all) with %v: %v: %s", args, err, out)
		}
	}
	return []chromedp.ExecAllocatorOption{chromedp.Env("HOME=" + home), chromedp.Flag("ignore-certificate-errors", false)}
}
