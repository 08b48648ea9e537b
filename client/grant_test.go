package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"

	logtest "github.com/sirupsen/logrus/hooks/test"
)

// secured is a cluster with Kerberos and without reachable servers, for a user with these tokens.
func secured(t *testing.T, properties map[string]string, tokens *creds.Credentials) *Cluster {
	t.Helper()
	conf := (&hadoopconf.Conf{}).With("test", map[string]string{
		"hadoop.security.authentication": "kerberos", "fs.defaultFS": "hdfs://home:8020",
	}).With("test", properties)
	files := dfs.New(dfs.Options{Conf: conf, User: "alice", Patience: time.Second})
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Cluster{Conf: conf, User: "alice", Files: files, identity: hadoopenv.Identity{User: "alice", Credentials: tokens}}
}

func token(kind, service string) *creds.Token {
	made := credstest.Delegation(service, identifier.Delegation{Owner: "alice@EXAMPLE.COM", Renewer: "rm", Max: time.UnixMilli(100)})
	made.Kind = kind
	return made
}

// TestTheClientObtainsTokensUnlessToldNotTo would catch an option without effect: the application would get
// tokens that its user does not want on the nodes.
func TestTheClientObtainsTokensUnlessToldNotTo(t *testing.T) {
	for option, want := range map[string]bool{
		"client.timeout=1 s": true,
		"yarn.security.appmaster.delegation.token.services=hbase; hadoopfs": true,
		"yarn.security.appmaster.delegation.token.services=hbase":           false,
		"yarn.security.appmaster.delegation.token.services=":                false,
		"security.delegation.token.provider.hadoopfs.enabled=false":         false,
		"security.delegation.tokens.enabled=false":                          false,
	} {
		if got := wantsTokens(options(t, option)); got != want {
			t.Errorf("%s: tokens are wanted: %t", option, got)
		}
	}
}

// TestTokensOfAnotherLauncherArePassedOn would catch an ApplicationMaster that gets another ApplicationMaster's
// token for YARN, or the token of another container.
func TestTokensOfAnotherLauncherArePassedOn(t *testing.T) {
	found := creds.New()
	for _, kind := range []string{
		creds.KindAMRM, creds.KindNM, creds.KindContainer, creds.KindClientToAM, creds.KindHDFSDelegation, creds.KindRMDelegation, "OTHER",
	} {
		found.Tokens[kind] = token(kind, kind)
	}
	found.Secrets["bobbin.credentials"] = []byte("key")
	kept := passedOn(found)
	want := []string{creds.KindHDFSDelegation, "OTHER", creds.KindRMDelegation}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(kept.Tokens))); diff != "" || len(kept.Secrets) > 0 {
		t.Errorf("passed on are other tokens (-want +got), and %d secrets:\n%s", len(kept.Secrets), diff)
	}
}

// TestEveryFileSystemOfAJobIsKnown would catch a worker without a token for a file system that its task reads
// or writes hours after the start of the job.
func TestEveryFileSystemOfAJobIsKnown(t *testing.T) {
	const more = "security.kerberos.access.hadoopFileSystems"
	c := secured(t, nil, creds.New())
	job := &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{
		{Splits: []jobgraph.Split{{Base: "hdfs://in:8020/a/"}, {Base: "hdfs://in:8020/"}, {Base: "file:///local/"}}},
		{Outputs: []string{"hdfs://out:8020/d"}},
	}}
	fileSystems := func(named string) ([]string, error) {
		p := plan{home: "hdfs://home:8020/user/alice", storage: "hdfs://ha:8020/ha", graph: job}
		return c.fileSystems(proofOf(options(t, more+"="+named), p.uses()...))
	}
	got, err := fileSystems("hdfs://more:8020/;hdfs://most:8020, hdfs://in:8020")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"hdfs://home:8020/", "hdfs://ha:8020/", "hdfs://in:8020/", "hdfs://out:8020/", "hdfs://more:8020/", "hdfs://most:8020/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("file systems differ (-want +got):\n%s", diff)
	}
	if _, err := fileSystems("s3://bucket"); err == nil || !strings.Contains(err.Error(), "s3") {
		t.Errorf("a file system that cannot be served is %v", err)
	}
}

// TestLogsAreWrittenToTheirFileSystem would catch logs that stay on the nodes, because the application has no
// token for the file system of the collected logs.
func TestLogsAreWrittenToTheirFileSystem(t *testing.T) {
	const written, dir, home = "yarn.log-aggregation-enable", "yarn.nodemanager.remote-app-log-dir", "hdfs://staging:8020/"
	for name, c := range map[string]struct {
		conf map[string]string
		want []string // beside home
	}{
		"not at all":                     {map[string]string{dir: "hdfs://logs:8020/logs"}, nil},
		"elsewhere":                      {map[string]string{written: "true", dir: "hdfs://logs:8020/logs"}, []string{"hdfs://logs:8020/"}},
		"by default":                     {map[string]string{written: "true"}, []string{"hdfs://home:8020/"}},
		"to no HDFS":                     {map[string]string{written: "true", dir: "s3a://bucket/logs"}, nil},
		"with a launcher's tokens alone": {map[string]string{written: "true"}, nil},
		"to the disk of nodes":           {map[string]string{written: "true", dir: "file:///logs"}, nil},
	} {
		as := secured(t, c.conf, creds.New())
		if as.identity.Login = new(kerberos.Login); name == "with a launcher's tokens alone" {
			as.identity.Login = nil
		}
		got, err := as.fileSystems(proofOf(options(t), home))
		if diff := cmp.Diff(append([]string{home}, c.want...), got); err != nil || diff != "" {
			t.Errorf("%s: %v, file systems differ (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestWithTokensAloneNobodyLogsIn would catch that a launcher with tokens needs a ticket, and that only a task
// reports a missing token.
func TestWithTokensAloneNobodyLogsIn(t *testing.T) {
	held := creds.New()
	held.Tokens["home"] = token(creds.KindHDFSDelegation, "home:8020")
	named := map[string]string{"hadoop.security.token.service.use_ip": "false"}
	got, err := secured(t, named, held).grant(t.Context(), proofOf(options(t), "hdfs://home:8020/user/alice"))
	if err != nil {
		t.Fatal(err)
	}
	if !got.shared || got.credentials.Tokens["home"] == nil || got.ends.IsZero() {
		t.Errorf("the application gets %+v", got)
	}
	_, err = secured(t, named, held).grant(t.Context(), proofOf(options(t), "hdfs://elsewhere:8020/user/alice"))
	if !errors.Is(err, yarnrpc.ErrNoLogin) || !strings.Contains(err.Error(), "elsewhere") {
		t.Errorf("a file system without a token is %v", err)
	}
}

// TestAnApplicationWithoutTokensNeedsAKeytab would catch an application that fails when its first process reads
// its first file.
func TestAnApplicationWithoutTokensNeedsAKeytab(t *testing.T) {
	held := creds.New()
	held.Tokens["home"] = token(creds.KindHDFSDelegation, "home:8020")
	named := map[string]string{"hadoop.security.token.service.use_ip": "false"}
	none := options(t, "yarn.security.appmaster.delegation.token.services=none")
	_, err := secured(t, named, creds.New()).grant(t.Context(), proofOf(none, "hdfs://home:8020/user/alice"))
	if !errors.Is(err, yarnrpc.ErrNoLogin) || !strings.Contains(err.Error(), "yarn.security.appmaster.delegation.token.services") {
		t.Errorf("neither token nor keytab: %v", err)
	}
	if _, err := secured(t, named, held).grant(t.Context(), proofOf(none, "hdfs://home:8020/user/alice")); err != nil {
		t.Errorf("another launcher's token: %v", err)
	}
	keytab := grant{security: launch.Security{Principal: "alice@EXAMPLE.COM", FileSystems: []string{"hdfs://home:8020/"}}}
	if err := secured(t, named, creds.New()).doWithoutTokens(t.Context(), keytab); err != nil {
		t.Errorf("a keytab: %v", err)
	}
}

// TestATokenThatWasHandedOnIsShownToItsNameNode would catch a dead token that goes to YARN. YARN refuses the
// application after the upload, and does not say what is wrong with the token.
func TestATokenThatWasHandedOnIsShownToItsNameNode(t *testing.T) {
	held := creds.New()
	for _, service := range []string{"home:8020", "away:8020"} {
		held.Tokens[service] = credstest.Delegation(service, identifier.Delegation{Owner: "alice@EXAMPLE.COM", Renewer: "rm"})
	}
	c := secured(t, map[string]string{"hadoop.security.token.service.use_ip": "false"}, held)
	dead := &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager.InvalidToken", Message: "it was canceled"}
	c.Files = dfs.New(dfs.Options{
		Conf: c.Conf, User: c.User, Credentials: func() *creds.Credentials { return held },
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, dead },
	})
	defer c.Files.Close()
	more := options(t, "security.kerberos.access.hadoopFileSystems=hdfs://away:8020")
	_, err := c.grant(t.Context(), proofOf(more, "hdfs://home:8020/user/alice"))
	if !errors.Is(err, yarnrpc.ErrInvalidToken) || !strings.Contains(err.Error(), "hdfs://away:8020/") {
		t.Errorf("got %v, want the file system named, and what it says", err)
	}
}

// TestNobodyAsksForTokensInVain would catch goroutines that still ask other file systems for tokens after the
// submission has failed.
func TestNobodyAsksForTokensInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conf := (&hadoopconf.Conf{}).With("test", map[string]string{
			"hadoop.security.authentication": "kerberos", "hadoop.security.token.service.use_ip": "false",
			"yarn.resourcemanager.principal": "rm/rm.example.com@EXAMPLE.COM",
		})
		who := hadoopenv.Identity{User: "alice", Login: new(kerberos.Login), Credentials: creds.New()}
		var asking atomic.Int32
		files := dfs.New(dfs.Options{
			Conf: conf, User: who.User, Login: who.Login,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { // nobody answers
				asking.Add(1)
				defer asking.Add(-1)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			},
		})
		c := &Cluster{Conf: conf, User: who.User, Files: files, identity: who}
		g := grant{credentials: creds.New(), issued: make(issued)}
		g.security.FileSystems = []string{"hdfs://home:8020/", "s3://bucket/"}
		if err := c.obtain(t.Context(), g); err == nil || !strings.Contains(err.Error(), "s3") {
			t.Errorf("a file system that cannot be served is %v", err)
		}
		if synctest.Wait(); asking.Load() > 0 {
			t.Error("somebody still asks for a token")
		}
	})
}

// bin cancels tokens, except those of a file system that does not answer.
type bin struct {
	away string

	mu    sync.Mutex // guards taken
	taken map[string]string
}

func (b *bin) CancelDelegationToken(_ context.Context, uri string, token *creds.Token) error {
	if uri == b.away {
		return errors.New("no answer")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken[uri] = token.Service
	return nil
}

// TestTokensOfNoApplicationAreGivenBack would catch tokens that outlive a failed submission, one NameNode that
// does not answer and so keeps all tokens alive, and canceled tokens that another launcher needs for its other
// applications.
func TestTokensOfNoApplicationAreGivenBack(t *testing.T) {
	held := creds.New()
	held.Tokens["theirs"] = token(creds.KindHDFSDelegation, "theirs:8020")
	g := grant{credentials: passedOn(held), issued: issued{}}
	for _, root := range []string{"hdfs://a/", "hdfs://b/", "hdfs://c/"} {
		g.add(root, token(creds.KindHDFSDelegation, root))
	}
	logger, log := logtest.NewNullLogger()
	logger.SetLevel(logrus.DebugLevel)
	to := &bin{away: "hdfs://b/", taken: make(map[string]string)}
	g.issued.giveBack(t.Context(), to, logger)
	if diff := cmp.Diff(map[string]string{"hdfs://a/": "hdfs://a/", "hdfs://c/": "hdfs://c/"}, to.taken); diff != "" {
		t.Errorf("given back (-want +got):\n%s", diff)
	}
	if len(g.credentials.Tokens) != 4 {
		t.Errorf("the application was to get %v", g.credentials)
	}
	if told := log.AllEntries(); len(told) != 1 || told[0].Level != logrus.DebugLevel || told[0].Data["filesystem"] != "hdfs://b/" {
		t.Errorf("told is %v", told)
	}
}

// TestARejectionNamesTheRenewer would catch that the owner reads, in the words of YARN, that a token was not
// renewed, and not who could renew it.
func TestARejectionNamesTheRenewer(t *testing.T) {
	rejection := fmt.Errorf("submit: %w", &yarnclient.RejectedError{State: records.ApplicationFailed, Diagnostics: "Failed to renew token"})
	rm := map[string]string{"yarn.resourcemanager.principal": "rm/_HOST@EXAMPLE.COM", "yarn.resourcemanager.address": "host:8032"}
	renewed := func(service, by string) *creds.Token {
		return credstest.Delegation(service, identifier.Delegation{Owner: "alice", Renewer: by})
	}
	for name, c := range map[string]struct {
		tokens []*creds.Token
		conf   map[string]string
		err    error
		want   []string // what is added
	}{
		"of the ResourceManager's tokens": {[]*creds.Token{renewed("ha-hdfs:ns", "rm")}, rm, rejection, nil},
		"of tokens that nobody renews":    {[]*creds.Token{renewed("ha-hdfs:ns", "")}, rm, rejection, nil},
		"of another's tokens":             {[]*creds.Token{renewed("ha-hdfs:ns", "rm"), renewed("nn:8020", "oozie")}, rm, rejection, []string{"nn:8020", `"oozie"`, `"rm"`, "rm/host@EXAMPLE.COM"}},
		"of a token of YARN's own":        {[]*creds.Token{{Kind: creds.KindRMDelegation, Service: "rm:8032", Identifier: []byte("\n\x05alice\x12\x05oozie")}}, rm, rejection, nil},
		"of tokens that tell nothing":     {[]*creds.Token{{Kind: "OTHER", Service: "kms"}}, rm, rejection, nil},
		"where nothing names the RM":      {[]*creds.Token{renewed("nn:8020", "oozie")}, nil, rejection, nil},
		"an RM that does not answer":      {[]*creds.Token{renewed("nn:8020", "oozie")}, rm, errors.New("away"), nil},
	} {
		g := grant{credentials: creds.New()}
		for _, token := range c.tokens {
			g.credentials.Tokens[token.Service] = token
		}
		got := g.rejected(c.err, secured(t, c.conf, creds.New()).Conf)
		if !errors.Is(got, c.err) || len(c.want) == 0 && got.Error() != c.err.Error() {
			t.Errorf("%s: got %v", name, got)
		}
		for _, want := range c.want {
			if !strings.Contains(got.Error(), want) {
				t.Errorf("%s: %v does not name %s", name, got, want)
			}
		}
		if strings.Contains(got.Error(), "ha-hdfs:ns") {
			t.Errorf("%s: %v blames a token that is right", name, got)
		}
	}
}

// TestARenewerWithoutANameIsNamed would catch that the owner reads that no rule applies, and not in whose
// configuration.
func TestARenewerWithoutANameIsNamed(t *testing.T) {
	const rm = "rm/host@EXAMPLE.COM"
	for class, want := range map[string]string{"java.lang.RuntimeException": rm, "java.io.IOException": ""} {
		refusal := &yarnrpc.RemoteError{Address: "nn:8020", Method: "getDelegationToken", Class: class, Message: "no rule applies"}
		err := unnamed(fmt.Errorf("get token: %w", refusal), rm)
		if !errors.Is(err, refusal) || strings.Contains(err.Error(), "auth_to_local") != (want != "") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", class, err)
		}
	}
}

// TestWhatBecomesOfAKeytab would catch a keytab that is sent against the options, above all to an application
// of another user.
func TestWhatBecomesOfAKeytab(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "alice.keytab")
	credstest.Keytab(t, path, "alice@EXAMPLE.COM")
	conf, err := kerberos.ParseConfig("test", []byte("[libdefaults]\ndefault_realm = EXAMPLE.COM\n"))
	if err != nil {
		t.Fatal(err)
	}
	login, err := kerberos.FromKeytab(conf, "alice", path)
	if err != nil {
		t.Fatal(err)
	}
	const ship, place = "yarn.security.kerberos.ship-local-keytab", "yarn.security.kerberos.localized-keytab-path"
	const named = "security.kerberos.login.keytab"
	for _, c := range []struct {
		name          string
		options       []string
		proxied       bool
		keytab, wants string // the path that the ApplicationMaster is told; the option that an error names
		sent          bool
	}{
		{"is sent", []string{named + "=" + path}, false, "krb5.keytab", "", true},
		{"is sent under another name", []string{named + "=" + path, place + "=my.keytab"}, false, "my.keytab", "", true},
		{"lies on the nodes", []string{named + "=" + path, ship + "=false", place + "=/etc/alice.keytab"}, false, "/etc/alice.keytab", "", false},
		{"lies nowhere", []string{named + "=" + path, ship + "=false"}, false, "", place, false},
		{"is sent into a directory", []string{named + "=" + path, place + "=keys/my.keytab"}, false, "", place, false},
		{"is sent as the directory itself", []string{named + "=" + path, place + "=."}, false, "", place, false},
		{"is sent as the root", []string{named + "=" + path, place + "=/"}, false, "", place, false},
		{"is sent in place of our binary", []string{named + "=" + path, place + "=bobbin"}, false, "", place, false},
		{"stays with who acts for another", []string{named + "=" + path}, true, "", "", false},
		{"is too large", []string{named + "=" + dir}, false, "", named, false},
		{"there is none", nil, false, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g grant
			err := g.readFiles(proofOf(options(t, c.options...)), login, c.proxied)
			if c.wants != "" {
				if err == nil || !strings.Contains(err.Error(), c.wants) {
					t.Errorf("got %v, want it to name %s", err, c.wants)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if g.security.Keytab != c.keytab || (g.keytab != nil) != c.sent || (g.security.Principal != "") != (c.keytab != "") {
				t.Errorf("the ApplicationMaster is told %q of %q, and a keytab is sent: %t", g.security.Keytab, g.security.Principal, g.keytab != nil)
			}
		})
	}
}

// TestWhatNobodyRenewsEndsSoon would catch the message that a job can run for a week if it fails after a day.
func TestWhatNobodyRenewsEndsSoon(t *testing.T) {
	issued := time.UnixMilli(1_900_000_000_000)
	held := creds.New()
	for service, renewer := range map[string]string{"a:8020": "rm", "b:8020": ""} {
		held.Tokens[service] = credstest.Delegation(service, identifier.Delegation{Owner: "alice", Renewer: renewer, Issued: issued, Max: issued.Add(7 * 24 * time.Hour)})
	}
	if got, err := end(held, 24*time.Hour); err != nil || !got.Equal(issued.Add(24*time.Hour)) {
		t.Errorf("the first ends at %v, %v", got, err)
	}
	held.Tokens["c:8020"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "c:8020", Identifier: []byte{9}}
	if _, err := end(held, 0); err == nil || !strings.Contains(err.Error(), "c:8020") {
		t.Errorf("one that tells nothing is %v", err)
	}
}

// TestTheEndIsTold would catch a job that fails at the end of its tokens without an earlier warning, and a line about
// the attempts of each job that has a keytab, although few jobs run for days.
func TestTheEndIsTold(t *testing.T) {
	ends := time.Date(2030, 1, 2, 3, 4, 0, 0, time.Local)
	withKeytab, without := grant{ends: ends}, grant{ends: ends}
	withKeytab.security.Principal = "alice@EXAMPLE.COM"
	again, once := []string{"yarn.application-attempts=2"}, []string{"yarn.application-attempts=1"}
	replaced := map[string]string{"yarn.resourcemanager.proxy-user-privileges.enabled": "true"}
	const home, away = "hdfs://home:8020/user/alice", "hdfs://away:8020/user/alice"
	for _, c := range []struct {
		name    string
		grant   grant
		mode    launch.Mode
		options []string
		conf    map[string]string
		staged  string
		want    string // what is named; "": nothing is said
	}{
		{"on an open cluster", grant{}, launch.Session, nil, nil, home, ""},
		{"without a keytab", without, launch.PerJob, nil, replaced, home, "security.kerberos.login.keytab"},
		{"with a keytab and one attempt", withKeytab, launch.Session, once, nil, home, ""},
		{"with a keytab, in a session", withKeytab, launch.Session, nil, nil, home, "proxy-user-privileges"},
		{"with a keytab, for one job", withKeytab, launch.PerJob, nil, nil, home, ""},
		{"with a keytab, for one job that is to have attempts", withKeytab, launch.PerJob, again, nil, home, "proxy-user-privileges"},
		{"where YARN starts only one", withKeytab, launch.Session, again, map[string]string{defaultAttempts: "1"}, home, ""},
		{"without high availability", withKeytab, launch.Session, []string{"high-availability.type=NONE"}, nil, home, ""},
		{"where YARN gets new tokens itself", withKeytab, launch.Session, again, replaced, home, ""},
		{"where it gets them for another file system", withKeytab, launch.Session, nil, replaced, away, away + ", which is not on fs.defaultFS"},
		{"with one attempt there", withKeytab, launch.Session, once, replaced, away, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			on := secured(t, c.conf, creds.New())
			on.staging = c.staged
			p, err := on.plan(Deployment{Mode: c.mode, Config: options(t, c.options...)})
			if err != nil {
				t.Fatal(err)
			}
			got := c.grant.advice(on, p.proof)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && !strings.Contains(got, "until "+ends.Format("2006-01-02 15:04 MST")+" at the latest") {
				t.Errorf("owners are told %q", got)
			}
		})
	}
}

// TestWithoutTokensFilesAreFetchedByYARNs would catch an application that fails before its first process
// starts, because no NodeManager can fetch its files, with only the words of YARN.
func TestWithoutTokensFilesAreFetchedByYARNs(t *testing.T) {
	withKeytab := grant{security: launch.Security{Principal: "alice@EXAMPLE.COM"}}
	none := []string{"yarn.security.appmaster.delegation.token.services="}
	replaced := map[string]string{Replaces: "true"}
	const home, away = "hdfs://home:8020/user/alice", "hdfs://away:8020/user/alice"
	for _, c := range []struct {
		name    string
		grant   grant
		options []string
		conf    map[string]string
		staged  string
		want    string // what is named; "": nothing is said
	}{
		{"YARN gets none", withKeytab, none, nil, home, Replaces},
		{"YARN gets some", withKeytab, none, replaced, home, ""},
		{"YARN gets some for another file system", withKeytab, none, replaced, away, away},
		{"the client is to obtain some, and none is needed", withKeytab, nil, nil, home, ""},
		{"on an open cluster", grant{}, none, nil, home, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.grant.advice(secured(t, c.conf, creds.New()), proofOf(options(t, c.options...), c.staged))
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("owners are told %q, want %q", got, c.want)
			}
		})
	}
}

// TestTheRenewerIsTheResourceManager would catch tokens that YARN does not accept because it cannot renew them.
func TestTheRenewerIsTheResourceManager(t *testing.T) {
	const key = "yarn.resourcemanager.principal"
	for configured, want := range map[string]string{
		"rm/_HOST@EXAMPLE.COM": "rm/host.example.com@EXAMPLE.COM", "yarn/fixed@EXAMPLE.COM": "yarn/fixed@EXAMPLE.COM",
	} {
		c := secured(t, map[string]string{key: configured, "yarn.resourcemanager.address": "Host.Example.com:8032"}, creds.New())
		if got, err := Renewer(c.Conf); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", configured, got, err, want)
		}
	}
	if _, err := Renewer(secured(t, nil, creds.New()).Conf); !errors.Is(err, errNoRenewer) {
		t.Errorf("got %v", err)
	}
}
