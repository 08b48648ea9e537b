package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	app       = "application_1700000000000_0001"
	container = ids.ResourceID("container_1700000000000_0001_01_000002")
	job       = ids.JobID("0123456789abcdef0123456789abcdef")
)

// must returns a fixture. A failure ends the test.
func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func authority(t *testing.T, application string) *Authority {
	t.Helper()
	a, err := NewAuthority(application, time.Now())
	return must(t, a, err)
}

func applicationMaster(t *testing.T, a *Authority) *Credentials {
	t.Helper()
	c, err := a.IssueApplicationMaster(time.Now())
	return must(t, c, err)
}

func taskExecutor(t *testing.T, a *Authority, container ids.ResourceID) *Credentials {
	t.Helper()
	c, err := a.IssueTaskExecutor(container, time.Now())
	return must(t, c, err)
}

func taskHost(t *testing.T, te *Credentials, job ids.JobID) *Credentials {
	t.Helper()
	c, err := te.IssueTaskHost(job, time.Now())
	return must(t, c, err)
}

// loopback returns both ends of a TCP connection. TLS expects a buffer: over a pipe both ends could
// block while they write an alert.
func loopback(t *testing.T) (server, client net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, listener, err)
	defer listener.Close()
	client, err = net.Dial("tcp", listener.Addr().String())
	must(t, client, err)
	server, err = listener.Accept()
	return must(t, server, err), client
}

// connect runs a handshake and sends one byte from the server. It returns the error of each end.
func connect(t *testing.T, server, client *tls.Config) (seen Identity, serverErr, clientErr error) {
	t.Helper()
	a, b := loopback(t)
	listening := tls.Server(a, server)
	done := make(chan error, 1)
	go func() {
		defer a.Close()
		err := listening.HandshakeContext(t.Context())
		if err == nil {
			_, err = listening.Write([]byte("x"))
		}
		done <- err
	}()
	dialing := tls.Client(b, client)
	clientErr = dialing.HandshakeContext(t.Context())
	if clientErr == nil {
		// In TLS 1.3 the client's handshake ends before the server has checked its certificate.
		// Only a read returns the result.
		_, clientErr = dialing.Read(make([]byte, 1))
	}
	b.Close()
	serverErr = <-done
	if serverErr == nil && server.ClientAuth != tls.NoClientCert {
		identity, err := PeerIdentity(listening.ConnectionState())
		seen = must(t, identity, err)
	}
	return seen, serverErr, clientErr
}

func TestPeersOfOneApplicationConnect(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	am, te := applicationMaster(t, root), taskExecutor(t, root, container)
	one, other := taskHost(t, te, job), taskHost(t, taskExecutor(t, root, "container_9"), job)
	tests := []struct {
		name           string
		server, client *tls.Config
		want           Identity
	}{
		{"a TaskExecutor dials the ApplicationMaster", am.ServerTLS(OnlyRole(RoleTaskExecutor)), te.ClientTLS(OnlyRole(RoleApplicationMaster)), te.Identity()},
		{"a host dials a host of its job on another worker", one.ServerTLS(OnlyJob(job)), other.ClientTLS(OnlyJob(job)), other.Identity()},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			seen, serverErr, clientErr := connect(t, test.server, test.client)
			if serverErr != nil || clientErr != nil {
				t.Fatalf("server: %v, client: %v", serverErr, clientErr)
			}
			if diff := cmp.Diff(test.want, seen); diff != "" {
				t.Errorf("server sees another peer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestImpostorsAreRefused has every way in which a certificate could give too much access. Each
// case would connect if one check were missing.
func TestImpostorsAreRefused(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	am, te := applicationMaster(t, root), taskExecutor(t, root, container)
	stranger := authority(t, app) // same names, another key
	issued := func(c *Credentials, err error) *Credentials { return must(t, c, err) }
	// forge issues, with a TaskExecutor's key, certificates that only the authority may issue.
	forge := func(id Identity) *Credentials {
		c, err := te.issuer().issue(id, nil, time.Now())
		return must(t, c, err)
	}
	host := taskHost(t, te, job)
	deep, err := host.issuer().issue(host.Identity(), nil, time.Now())
	must(t, deep, err)
	elsewhere, err := root.issuer.issue(Identity{Application: "application_1_2", Role: RoleTaskExecutor, Resource: container}, nil, time.Now())
	must(t, elsewhere, err)
	rootIssuedHost, err := root.issuer.issue(host.Identity(), nil, time.Now())
	must(t, rootIssuedHost, err)

	onlyTE := am.ServerTLS(OnlyRole(RoleTaskExecutor))
	exchange := host.ServerTLS(OnlyJob(job))
	toAM, toJob := OnlyRole(RoleApplicationMaster), OnlyJob(job)
	tests := []struct {
		name           string
		server, client *tls.Config
		want           error // at the server, or at the client if atClient is set
		atClient       bool
	}{
		{name: "a TaskExecutor of another authority", server: onlyTE, client: taskExecutor(t, stranger, container).ClientTLS(toAM), atClient: true},
		{name: "a TaskExecutor of another authority that does not check the server", server: onlyTE, client: unchecked(taskExecutor(t, stranger, container))},
		{name: "a TaskExecutor of another application under the same authority", server: onlyTE, client: unchecked(elsewhere), want: errNotAllowed},
		{name: "an expired TaskExecutor", server: onlyTE, client: expired(t, root, te).ClientTLS(toAM)},
		{name: "a TaskExecutor from the future", server: onlyTE, client: issued(root.IssueTaskExecutor(container, time.Now().Add(2*clockSkew))).ClientTLS(toAM)},
		{name: "a client without a certificate", server: onlyTE, client: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}},
		{name: "a task host at the ApplicationMaster", server: onlyTE, client: host.ClientTLS(toAM), want: errNotAllowed},
		{name: "a TaskExecutor that issued itself another's certificate", server: onlyTE, client: forge(Identity{Application: app, Role: RoleTaskExecutor, Resource: "container_3"}).ClientTLS(toAM)},
		{name: "a TaskExecutor that poses as the ApplicationMaster", server: forge(Identity{Application: app, Role: RoleApplicationMaster}).ServerTLS(OnlyRole(RoleTaskExecutor)), client: te.ClientTLS(toAM), want: ErrIdentity, atClient: true},
		{name: "a server that is not the ApplicationMaster", server: te.ServerTLS(OnlyRole(RoleTaskExecutor)), client: te.ClientTLS(toAM), want: errNotAllowed, atClient: true},
		{name: "a host of another job", server: exchange, client: taskHost(t, te, "feed").ClientTLS(toJob), want: errNotAllowed},
		{name: "a TaskExecutor at a host", server: exchange, client: te.ClientTLS(toJob), want: errNotAllowed},
		{name: "a TaskExecutor in the place of a host", server: te.ServerTLS(OnlyRole(RoleTaskHost)), client: host.ClientTLS(toJob), want: errNotAllowed, atClient: true},
		{name: "a host issued by the TaskExecutor of another container", server: exchange, client: forge(Identity{Application: app, Role: RoleTaskHost, Job: job, Resource: "container_3"}).ClientTLS(toJob), want: ErrIdentity},
		{name: "a host issued by the authority itself", server: exchange, client: rootIssuedHost.ClientTLS(toJob), want: ErrIdentity},
		{name: "a host issued by a host", server: exchange, client: deep.ClientTLS(toJob)},
		{name: "a client that speaks TLS 1.2", server: onlyTE, client: &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{te.certificate()}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, serverErr, clientErr := connect(t, test.server, test.client)
			if serverErr == nil || clientErr == nil {
				t.Fatalf("connected: server %v, client %v", serverErr, clientErr)
			}
			got := serverErr
			if test.atClient {
				got = clientErr
			}
			if test.want != nil && !errors.Is(got, test.want) {
				t.Errorf("got error %v, want one that is %q", got, test.want)
			}
		})
	}
}

// expired returns an expired certificate of a TaskExecutor from its authority.
func expired(t *testing.T, root *Authority, te *Credentials) *Credentials {
	t.Helper()
	template := *te.chain[0]
	template.NotAfter = time.Now().Add(-time.Minute)
	certificate, err := sign(&template, root.issuer.chain[0], &te.key.PublicKey, root.issuer.key)
	must(t, certificate, err)
	return &Credentials{identity: te.identity, key: te.key, chain: append([]*x509.Certificate{certificate}, root.issuer.chain...)}
}

// TestCertificatesOutlastLongJobs would catch a job of weeks that cannot replace a lost stream,
// because the certificate of one of its ends has expired.
func TestCertificatesOutlastLongJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // for the simulated clock
		root := authority(t, app)
		am, te := applicationMaster(t, root), taskExecutor(t, root, container)
		old := taskHost(t, te, job)
		time.Sleep(3 * 365 * 24 * time.Hour)
		late := taskHost(t, te, job)
		for name, pair := range map[string][2]*tls.Config{
			"a TaskExecutor dials the ApplicationMaster again": {am.ServerTLS(OnlyRole(RoleTaskExecutor)), te.ClientTLS(OnlyRole(RoleApplicationMaster))},
			"an old host dials a new one":                      {late.ServerTLS(OnlyJob(job)), old.ClientTLS(OnlyJob(job))},
		} {
			if _, serverErr, clientErr := connect(t, pair[0], pair[1]); serverErr != nil || clientErr != nil {
				t.Errorf("%s: server %v, client %v", name, serverErr, clientErr)
			}
		}
	})
}

// unchecked is a client that accepts any server, for tests of the server's check.
func unchecked(c *Credentials) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.certificate()}}
}

func TestRESTIsCheckedByAuthorityAndRole(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	issued, err := root.IssueREST([]string{"node1", "127.0.0.1"}, time.Now())
	rest := must(t, issued, err)
	am := applicationMaster(t, root)
	config := func(c *Credentials) *tls.Config {
		client, err := RESTClientTLS(c.Authority())
		return must(t, client, err)
	}
	if _, serverErr, clientErr := connect(t, rest.RESTServerTLS(), config(am)); serverErr != nil || clientErr != nil {
		t.Errorf("REST endpoint refused: server %v, client %v", serverErr, clientErr)
	}
	if _, _, clientErr := connect(t, am.RESTServerTLS(), config(am)); !errors.Is(clientErr, errNotAllowed) {
		t.Errorf("another role's certificate served REST: %v", clientErr)
	}
	if _, _, clientErr := connect(t, rest.RESTServerTLS(), config(applicationMaster(t, authority(t, app)))); clientErr == nil {
		t.Error("REST endpoint of another authority was accepted")
	}
	if err := issued.chain[0].VerifyHostname("node1"); err != nil {
		t.Errorf("other clients cannot check the host's name: %v", err)
	}
}

func TestOnlyTaskExecutorsIssue(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	te := taskExecutor(t, root, container)
	for _, c := range []*Credentials{applicationMaster(t, root), taskHost(t, te, job)} {
		if _, err := c.IssueTaskHost(job, time.Now()); !errors.Is(err, errNotIssuer) {
			t.Errorf("%s issued a host's certificate: %v", c, err)
		}
	}
	if _, err := te.IssueTaskHost("a/b", time.Now()); !errors.Is(err, ErrIdentity) {
		t.Errorf("job id with a slash was taken: %v", err)
	}
	if _, err := NewAuthority("a b", time.Now()); !errors.Is(err, ErrIdentity) {
		t.Errorf("application id with a space was taken: %v", err)
	}
}

func TestIdentityTextForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Identity{
		"bobbin:" + app + "/am":                                            {Application: app, Role: RoleApplicationMaster},
		"bobbin:" + app + "/rest":                                          {Application: app, Role: RoleREST},
		"bobbin:" + app + "/te/" + string(container):                       {Application: app, Role: RoleTaskExecutor, Resource: container},
		"bobbin:" + app + "/host/" + string(job) + "/" + string(container): {Application: app, Role: RoleTaskHost, Job: job, Resource: container},
	} {
		got, err := parseIdentity(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v (%s), %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "bobbin:", "bobbin:a", "bobbin:a/b", "bobbin:a/te", "bobbin:a/te/", "bobbin:a/te/c/d", "bobbin:a/am/x", "http:a/am", "bobbin:a/te/c d", "bobbin:a/te/" + strings.Repeat("c", 200)} {
		if _, err := parseIdentity(text); !errors.Is(err, ErrIdentity) {
			t.Errorf("%q: got error %v, want ErrIdentity", text, err)
		}
	}
}

func TestCredentialsSurviveTheirText(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	te := taskExecutor(t, root, container)
	secret, err := te.PEM()
	must(t, secret, err)
	parsed, err := ParsePEM(secret)
	must(t, parsed, err)
	encoded, err := taskHost(t, parsed, job).Certificates()
	must(t, encoded, err)
	host, err := ParseCertificates(encoded)
	must(t, host, err)
	if _, serverErr, clientErr := connect(t, applicationMaster(t, root).ServerTLS(OnlyRole(RoleTaskExecutor)), parsed.ClientTLS(OnlyRole(RoleApplicationMaster))); serverErr != nil || clientErr != nil {
		t.Errorf("after parsing: server %v, client %v", serverErr, clientErr)
	}
	if _, serverErr, clientErr := connect(t, host.ServerTLS(OnlyJob(job)), taskHost(t, te, job).ClientTLS(OnlyJob(job))); serverErr != nil || clientErr != nil {
		t.Errorf("parsed host: server %v, client %v", serverErr, clientErr)
	}
}

func TestMalformedCredentialsAreRefusedWithoutQuotingThem(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	te := taskExecutor(t, root, container)
	good, err := te.PEM()
	must(t, good, err)
	other, err := taskExecutor(t, root, "container_3").PEM()
	must(t, other, err)
	key, certificates, _ := strings.Cut(string(good), "-----BEGIN CERTIFICATE-----")
	_, otherCertificates, _ := strings.Cut(string(other), "-----BEGIN CERTIFICATE-----")
	for name, text := range map[string]string{
		"nothing":                    "",
		"no key":                     "-----BEGIN CERTIFICATE-----" + certificates,
		"no certificates":            key,
		"the key of another":         key + "-----BEGIN CERTIFICATE-----" + otherCertificates,
		"two keys":                   key + string(good),
		"an authority's certificate": strings.Replace(string(good), "MII", "MIJ", 1),
		"a block of another type":    strings.ReplaceAll(string(good), "PRIVATE KEY", "OTHER KEY"),
	} {
		_, err := ParsePEM([]byte(text))
		if !errors.Is(err, errMalformed) {
			t.Errorf("%s: got error %v, want ErrMalformed", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "BEGIN") {
			t.Errorf("%s: the error quotes the text: %v", name, err)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	root := authority(t, app)
	te := taskExecutor(t, root, container)
	token := NewToken()
	certificates, err := te.Certificates()
	must(t, certificates, err)
	private, err := te.key.Bytes()
	must(t, private, err)
	number := new(big.Int).SetBytes(private).String()
	for _, value := range []any{root, te, token, certificates.Key, struct{ T Token }{token}, msg.StartHost{Certificates: certificates}.Certificates.Key} {
		text := fmt.Sprintf("%v %+v %#v %s", value, value, value, value)
		if strings.Contains(text, token.Reveal()) || strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, number) {
			t.Errorf("%T prints a secret", value)
		}
	}
}

func TestTokenMatchesItselfOnly(t *testing.T) {
	t.Parallel()
	token := NewToken()
	if !token.Matches(token.Reveal()) || !TokenOf(token.Reveal()).Matches(token.Reveal()) {
		t.Error("token does not match its own text")
	}
	if token.Matches("") || token.Matches(token.Reveal()+"x") || (Token{}).Matches("") {
		t.Error("token matches another text")
	}
}

// FuzzParsePEM would catch a text that crashes a process at its start.
func FuzzParsePEM(f *testing.F) {
	root, err := NewAuthority(app, time.Unix(1700000000, 0))
	if err != nil {
		f.Fatal(err)
	}
	te, err := root.IssueTaskExecutor(container, time.Unix(1700000000, 0))
	if err != nil {
		f.Fatal(err)
	}
	text, err := te.PEM()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(text))
	f.Fuzz(func(t *testing.T, text []byte) {
		credentials, err := ParsePEM(text)
		if err == nil && credentials.Identity().Application == "" {
			t.Error("credentials without an application")
		}
	})
}
