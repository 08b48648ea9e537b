package security

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestTicketsForHTTP runs a job on a cluster where YARN's web servers, and the master's own, accept tickets (SPNEGO).
// bob may look at the job, small may not.
func TestTicketsForHTTP(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.SecurePair)
	alice, viewer, other := suite.UserOf(t, c, bobbintest.Alice), suite.UserOf(t, c, bob), suite.UserOf(t, c, small)
	flags := slices.Concat(option("yarn.view.acls", bob), option("rest.spnego.keytab", c.Keytab("HTTP")), option("rest.proxy.changes.enable", true))
	d := suite.Dawdle(t, alice, append(flags, "-p", "2", "-s", "1")...)
	// The order matters: the last one ends the job.
	t.Run("REST", func(t *testing.T) { checkNegotiation(t, d, viewer, other) })
	t.Run("logs", func(t *testing.T) { checkLiveLogs(t, d, viewer) })
	t.Run("proxy", func(t *testing.T) { checkProxy(t, d, viewer, other) })
	d.CheckFails(t, "FINISHED", "KILLED", "CANCELED")
}

// curl is a request that a user makes with the real curl, and the status of its answer.
type curl struct {
	who  *bobbintest.User
	args []string
	want int
}

func checkCurls(t *testing.T, url string, curls map[string]curl) {
	t.Helper()
	for name, c := range curls {
		if got := c.who.Curl(t, append(c.args, url)...); got.Status != c.want {
			t.Errorf("%s: want %d, got %s", name, c.want, got)
		}
	}
}

// checkNegotiation would catch a server that refuses real clients with a ticket (rest.spnego.keytab), or accepts
// others.
func checkNegotiation(t *testing.T, d *bobbintest.Dawdler, viewer, other *bobbintest.User) {
	job := "https://" + d.Master.Access.Address + "/jobs/" + d.Job
	checkCurls(t, job, map[string]curl{
		"the owner looks":                   {d.User, nil, 200},
		"who may look looks":                {viewer, nil, 200},
		"who may look cancels":              {viewer, []string{"-X", "PATCH"}, 403},
		"the owner cancels":                 {d.User, []string{"-X", "PATCH"}, 403}, // everyone who has the key could make this ticket
		"a foreign page cancels, for alice": {d.User, []string{"-X", "PATCH", "-H", "Origin: https://evil.test"}, 403},
		"who may not looks":                 {other, nil, 403},
		"who has no ticket looks":           {viewer.WithoutTicket(), nil, 401},
	})
	once := viewer.Curl(t, job)
	if !strings.HasPrefix(once.Sent, "Negotiate ") || once.Status != 200 {
		t.Fatalf("curl sends no ticket: %q, %s", once.Sent, once)
	}
	thief := request{stranger, true, "GET /jobs/" + d.Job + headers("Authorization: "+once.Sent)}
	if got := thief.send(t, d.Master.Access.Address); got != 401 {
		t.Errorf("with what bob has sent before: status %d, want 401", got)
	}
}

// checkLiveLogs would catch logs of a running application that nobody can read if NodeManagers require tickets.
func checkLiveLogs(t *testing.T, d *bobbintest.Dawdler, viewer *bobbintest.User) {
	for _, who := range []*bobbintest.User{d.User, viewer} {
		if got := who.Run(t, "logs", "--file", "jobmanager.log", d.Application); got.Code != 0 || !strings.Contains(got.Stdout, d.Job) {
			t.Errorf("logs for %s: %s", who.Name, got)
		}
	}
}

// checkLogsWithoutPrincipals would catch an error that does not name the user of the ticket and the server. During this
// check the NodeManagers' web servers have no principals, so the cluster must belong to this test alone.
func checkLogsWithoutPrincipals(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	rename := func(from, to string) {
		for _, host := range d.User.Cluster.NodeManagers() {
			if err := d.User.Cluster.Kadmin(wait.Context(t), "renprinc -force "+from+host+" "+to+host); err != nil {
				t.Fatal(err)
			}
		}
	}
	const there, away = "HTTP/", "HIDDEN/"
	rename(there, away)
	defer rename(away, there)
	got := d.User.Run(t, "logs", d.Application)
	for _, text := range []string{"alice@" + cluster.Realm, "HTTP/127.0.0.", "check the host's name"} {
		if got.Code == 0 || !strings.Contains(got.Stderr, text) {
			t.Errorf("logs without principals of the nodes: %q is not in %s", text, got)
		}
	}
}

// checkProxy would catch a web proxy that shows the job to a user who may not look, and a page of another site that can
// cancel a job in the owner's name. At its end the owner cancels the job.
func checkProxy(t *testing.T, d *bobbintest.Dawdler, viewer, other *bobbintest.User) {
	rm, err := d.User.Cluster.ActiveRMWebAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.JoinPath("http://"+rm+"/proxy", d.Application, "jobs", d.Job)
	if err != nil {
		t.Fatal(err)
	}
	// A ResourceManager that has just become active knows no tracking URL before the ApplicationMaster has registered again.
	err = wait.Poll(wait.Context(t), "the proxy to know the application", func() error {
		if got := d.User.Curl(t, at); got.Status == http.StatusNotFound {
			return errors.New(got.String())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(headers ...string) []string {
		args := []string{"-X", "PUT"}
		for _, header := range headers {
			args = append(args, "-H", header)
		}
		return args
	}
	own, evil := "Origin: http://"+rm, "Origin: http://evil.test"
	checkCurls(t, at, map[string]curl{
		"the owner looks":                      {d.User, nil, 200},
		"who may look looks":                   {viewer, nil, 200},
		"who may not looks":                    {other, nil, 403},
		"who may not looks, as alice":          {other, []string{"-b", "proxy-user=alice"}, 403},
		"who has no ticket looks":              {viewer.WithoutTicket(), nil, 401},
		"who may look cancels":                 {viewer, put(own), 403},
		"a foreign page cancels, for alice":    {d.User, put(evil), 403},
		"a page that hides cancels, for alice": {d.User, put("Origin: null"), 403},
		"no page cancels, for alice":           {d.User, put(), 403},
	})
	link := at + "/yarn-cancel" // for proxies that pass on only GET
	get := func(headers ...string) []string { return append(put(headers...), "-X", "GET") }
	const declared = "Content-Type: application/json"
	checkCurls(t, link, map[string]curl{
		"a link that alice clicks":               {d.User, nil, 403},
		"a link on the proxy's own page":         {d.User, get(own), 403},
		"a script of a foreign page, for alice":  {d.User, get(evil, declared), 403},
		"a script of a page that hides":          {d.User, get("Origin: null", declared), 403},
		"a script of who may look":               {viewer, get(own, declared), 403},
		"a script of who may not look, as alice": {other, append(get(own, declared), "-b", "proxy-user=alice"), 403},
	})
	if now := d.Details(t); now.State.GloballyTerminal() {
		t.Fatalf("the job is %s", now.State)
	}
	// Without these the others prove nothing.
	none := strings.TrimSuffix(at, d.Job) + strings.Repeat("0", len(d.Job))
	if got := d.User.Curl(t, append(put(own), none)...); got.Status != 404 {
		t.Errorf("the owner cancels a job that is not there by the proxy's page: %s", got)
	}
	if got := d.User.Curl(t, append(get(declared), link)...); got.Status != 202 {
		t.Errorf("the owner's program cancels by GET through the proxy: %s", got)
	}
}
