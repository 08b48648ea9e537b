package failover

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// TestTheSecondMasterHasTheSitesCertificate would catch a browser that knows only the site's authority and cannot open the
// page, of the first ApplicationMaster or of the next one; commands of bobbin that such a session refuses; and a key that
// others can read on HDFS, or that stays there.
func TestTheSecondMasterHasTheSitesCertificate(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice).With("TMPDIR=" + t.TempDir()) // for the file that names the session
	authority := sitecerttest.NewAuthority(t)
	hosts := make([]string, 9) // of all nodes of a test's cluster
	for i := range hosts {
		hosts[i] = fmt.Sprintf("127.0.0.%d", i+1)
	}
	certificate, key := authority.Write(t, hosts...)
	id := u.StartSession(t, "-jm", "256m", "-tm", "512m",
		"-D", "security.ssl.rest.certificate="+certificate, "-D", "security.ssl.rest.key="+key)

	first := u.Master(t, id) // by the application's certificate
	openBySite(t, u, id, authority)
	listed, err := rpctest.HDFS(t, u.Cluster).List(t.Context(), u.StagingOf(id))
	if err != nil {
		t.Fatal(err)
	}
	mode := ""
	for _, file := range listed {
		if file.Name == launch.SiteFile {
			mode = file.Permission
		}
	}
	if mode != "400" {
		t.Errorf("the key on HDFS has the mode %q", mode)
	}

	master(t, id).Kill(t)
	u.Successor(t, id, first)
	openBySite(t, u, id, authority)
	if got := u.Run(t, "session", "stop"); got.Code != 0 {
		t.Fatal(got)
	}
	u.WaitEnded(t, id)
	u.CheckGone(t, id)
}

// openBySite opens the page of an application by a link, in a browser that trusts only the site's authority.
func openBySite(t *testing.T, u *bobbintest.User, application string, authority *sitecerttest.Authority) {
	t.Helper()
	link := u.Link(t, application)
	if link.Fingerprint != "" || link.Site != "" {
		t.Fatalf("open %s: %+v", application, link)
	}
	page, secret, _ := strings.Cut(link.URL, "#")
	at, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authority.Roots}}}
	t.Cleanup(web.CloseIdleConnections)
	for _, ask := range []struct{ method, path string }{{http.MethodGet, at.Path}, {http.MethodPost, "/access"}} {
		r, err := http.NewRequestWithContext(t.Context(), ask.method, "https://"+at.Host+ask.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ask.method == http.MethodPost {
			r.Header.Set("Authorization", restapi.SchemeLink+" "+secret)
		}
		answer, err := web.Do(r)
		if err != nil {
			t.Fatalf("%s %s: %v", ask.method, ask.path, err)
		}
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s %s: status %d", ask.method, ask.path, answer.StatusCode)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}
