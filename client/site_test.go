package client

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestTheMasterGetsTheSitesCertificate would catch a mode of a cluster whose master does not get the certificate, or
// does not look for it, and one whose key other applications of the user can read.
func TestTheMasterGetsTheSitesCertificate(t *testing.T) {
	certificate, key := sitecerttest.NewAuthority(t).Write(t, "*.cluster.example")
	with := []string{"security.ssl.rest.certificate=" + certificate, "security.ssl.rest.key=" + key}
	for _, mode := range []launch.Mode{launch.PerJob, launch.Session, launch.Application} {
		for _, pairs := range [][]string{nil, with} {
			p, err := local(t).plan(Deployment{Mode: mode, Config: options(t, pairs...)})
			if err != nil {
				t.Fatal(err)
			}
			on := staged{
				bobbin: launch.Resource{URI: "hdfs://nn/bobbin"}, program: launch.Resource{URI: "hdfs://nn/program"},
				site: launch.Resource{URI: "hdfs://nn/site"},
			}
			made, err := p.launchContext(on, facts{grant: grant{credentials: creds.New()}})
			if err != nil {
				t.Fatal(err)
			}
			told, err := launch.Decode[launch.AppMaster](made.Environment[launch.Variable])
			if err != nil {
				t.Fatal(err)
			}
			resource, has := made.LocalResources[launch.SiteFile]
			if want := pairs != nil; told.Site != want || has != want || want && (resource.Visibility != records.VisibilityApplication || resource.URL.Path != "/site") {
				t.Errorf("%s with %v: the master is told %t, and gets %+v, %t", mode, pairs, told.Site, resource, has)
			}
			if text := made.Environment[launch.Variable]; pairs != nil && (p.siteAdvice() != "" || strings.Contains(text, string(p.site.PEM()))) {
				t.Errorf("%s: advice %q, or the key is in the environment", mode, p.siteAdvice())
			}
		}
	}
}

// TestBadCertificatesAreRefusedBeforeTheSubmission would catch an application whose page no browser trusts, because of a
// mistake that the client could see.
func TestBadCertificatesAreRefusedBeforeTheSubmission(t *testing.T) {
	authority := sitecerttest.NewAuthority(t)
	certificate, key := authority.Write(t, "node5")
	_, other := authority.Write(t, "node5")
	for name, test := range map[string]struct {
		pairs []string
		want  error
		text  string
	}{
		"no key":         {[]string{"security.ssl.rest.certificate=" + certificate}, config.ErrInvalid, "security.ssl.rest.key is not set"},
		"no certificate": {[]string{"security.ssl.rest.key=" + key}, config.ErrInvalid, "security.ssl.rest.certificate is not set"},
		"not there":      {[]string{"security.ssl.rest.certificate=/nowhere", "security.ssl.rest.key=" + key}, fs.ErrNotExist, "/nowhere"},
		"another key":    {[]string{"security.ssl.rest.certificate=" + certificate, "security.ssl.rest.key=" + other}, sitecert.ErrUnusable, "the key does not belong to it"},
	} {
		if _, err := local(t).plan(Deployment{Mode: launch.Session, Config: options(t, test.pairs...)}); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnotherUserGetsNoKey would catch a key that a user sends to another one, for whom this user acts; and a submission that
// fails because of files which are not used.
func TestAnotherUserGetsNoKey(t *testing.T) {
	certificate, key := sitecerttest.NewAuthority(t).Write(t, "node5")
	c := local(t)
	c.identity.RealUser = "gateway"
	p, err := c.plan(Deployment{Mode: launch.Session, Config: options(t, "security.ssl.rest.certificate="+certificate, "security.ssl.rest.key="+key)})
	if err != nil || p.site != nil || !strings.Contains(p.kept, "stays on this machine") {
		t.Errorf("the plan has %v, and says %q, %v", p.site, p.kept, err)
	}
	if p, err = c.plan(Deployment{Mode: launch.Session, Config: options(t, "security.ssl.rest.certificate=/nowhere", "security.ssl.rest.key=/nowhere")}); err != nil || p.kept == "" {
		t.Errorf("with files that are not there: %v", err)
	}
}

// TestTheUserIsToldWhoCanReadTheKey would catch a key that other users of a session can read, and nobody says so; and a warning
// where no other user can run programs.
func TestTheUserIsToldWhoCanReadTheKey(t *testing.T) {
	certificate, key := sitecerttest.NewAuthority(t).Write(t, "node5")
	c := local(t)
	for _, test := range []struct {
		mode launch.Mode
		acl  string
		want string // "": no advice
	}{
		{launch.Session, "bob,carol admins", "programs of bob, carol (yarn.modify.acls) can read the key"},
		{launch.Session, "a,b,c,d,e,f,g", "programs of a, b, c, d, e and 2 more (yarn.modify.acls) can read"},
		{launch.Session, c.User, ""},
		{launch.Session, "* admins", ""}, // they may stop it, and run nothing
		{launch.Session, " admins", ""},
		{launch.Session, "", ""},
		{launch.Application, "bob", ""},
	} {
		p, err := c.plan(Deployment{Mode: test.mode, Config: options(t,
			"security.ssl.rest.certificate="+certificate, "security.ssl.rest.key="+key, "yarn.modify.acls="+test.acl)})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.keyAdvice(); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("with %q: %q, want %q", test.acl, got, test.want)
		}
	}
	if p, err := c.plan(Deployment{Mode: launch.Session, Config: options(t, "yarn.modify.acls=bob")}); err != nil || p.keyAdvice() != "" {
		t.Errorf("without a certificate: %q, %v", p.keyAdvice(), err)
	}
}

// TestTheUserIsToldOfTheEnd would catch a session that outlives its certificate without a warning.
func TestTheUserIsToldOfTheEnd(t *testing.T) {
	authority := sitecerttest.NewAuthority(t)
	site := sitecerttest.NewSite(t, "node5")
	site.Template.NotAfter = time.Now().Add(49 * time.Hour)
	own, issuer, key := authority.Issue(t, site)
	dir := t.TempDir()
	p, err := local(t).plan(Deployment{Mode: launch.Session, Config: options(t,
		"security.ssl.rest.certificate="+sitecerttest.File(t, dir, "c", slices.Concat(own, issuer)), "security.ssl.rest.key="+sitecerttest.File(t, dir, "k", key))})
	if err != nil || !strings.Contains(p.siteAdvice(), "in 2 days: then browsers get") {
		t.Errorf("the advice is %q, %v", p.siteAdvice(), err)
	}
}
