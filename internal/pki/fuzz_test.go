package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"testing"
	"time"
)

// FuzzParseIdentity parses the identity in a certificate. It would catch two texts for one process,
// a part of a name that looks like two parts, and an error that callers cannot test.
func FuzzParseIdentity(f *testing.F) {
	for _, text := range []string{
		"bobbin:" + app + "/am", "bobbin:" + app + "/rest", "bobbin:" + app + "/te/" + string(container),
		"bobbin:" + app + "/host/" + string(job) + "/" + string(container),
		"bobbin:a/te", "bobbin:a/te/b/c", "bobbin:a/host/b", "bobbin://a/am", "bobbin:a%2Fam", "bobbin:a/am?", "bobbin:a/te/ä", "bobbin:/am",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseIdentity(text)
		if err != nil {
			if !errors.Is(err, ErrIdentity) || id != (Identity{}) {
				t.Errorf("%q is %v, %v", text, id, err)
			}
			return
		}
		if id.String() != text || id.url().String() != text {
			t.Errorf("%q is read as %q", text, id)
		}
		if !slices.Contains([]Role{RoleApplicationMaster, RoleREST, RoleTaskExecutor, RoleTaskHost}, id.Role) {
			t.Errorf("%q has the role %q", text, id.Role)
		}
		named := []string{id.Application}
		switch id.Role {
		case RoleTaskHost:
			named = append(named, string(id.Job), string(id.Resource))
		case RoleTaskExecutor:
			named = append(named, string(id.Resource))
		case RoleApplicationMaster, RoleREST:
		}
		for _, part := range named {
			if !plain(part) {
				t.Errorf("%q names %q", text, part)
			}
		}
	})
}

// certificates are some of an application's, some of another application's, and some that a
// TaskExecutor issued without the right to.
type certificates struct {
	all              []*x509.Certificate
	root, te, host   *x509.Certificate
	workers, strange []*x509.Certificate // of workers; that must never be accepted
}

func makeCertificates(f *testing.F) certificates {
	f.Helper()
	now := time.Now()
	made := func(c *Credentials, err error) *Credentials {
		if err != nil {
			f.Fatal(err)
		}
		return c
	}
	authorities := make([]*Authority, 0, 3)
	for _, application := range []string{app, app, "application_1_0002"} { // the second authority has the same names and another key
		a, err := NewAuthority(application, now)
		if err != nil {
			f.Fatal(err)
		}
		authorities = append(authorities, a)
	}
	var c certificates
	for i, a := range authorities {
		te := made(a.IssueTaskExecutor(container, now))
		other := made(a.IssueTaskExecutor("container_9", now))
		host := made(te.IssueTaskHost(job, now))
		forged := made(te.issuer().issue(other.Identity(), nil, now))
		deep := made(host.issuer().issue(host.Identity(), nil, now))
		am, front := made(a.IssueApplicationMaster(now)), made(a.IssueREST(nil, now))
		held := []*x509.Certificate{te.root()}
		for _, credentials := range []*Credentials{te, other, host, forged, deep, am, front} {
			held = append(held, credentials.chain[0])
		}
		c.all = append(c.all, held...)
		if i == 0 {
			c.root, c.te, c.host = te.root(), te.chain[0], host.chain[0]
			c.workers = []*x509.Certificate{te.chain[0], other.chain[0]}
			continue
		}
		c.strange = append(c.strange, held...)
	}
	return c
}

// FuzzPeer passes to the check of peers what an unknown peer can send: certificates in any order
// and number, and changed ones. It would catch an accepted certificate that neither the
// application's authority nor the host's worker has issued, and one that crashes the process.
func FuzzPeer(f *testing.F) {
	c := makeCertificates(f)
	f.Add([]byte{1}, []byte(nil))
	f.Add([]byte{3, 1}, []byte(nil))
	f.Add([]byte{3, 0, 1}, []byte(nil))
	f.Add([]byte{5, 3, 1, 0}, []byte(nil))
	f.Add([]byte{9, 8, 0}, c.te.Raw)
	f.Add([]byte{255, 1, 0}, c.host.Raw)
	f.Add([]byte{255}, bytes.Replace(c.te.Raw, []byte(container), []byte("container_1700000000000_0001_01_000003"), 1))
	worker := verifier(c.root, app, x509.ExtKeyUsageClientAuth, OnlyRole(RoleTaskExecutor))
	ofJob := verifier(c.root, app, x509.ExtKeyUsageClientAuth, OnlyJob(job))
	f.Fuzz(func(t *testing.T, order, raw []byte) {
		changed, err := x509.ParseCertificate(raw)
		if err != nil || len(order) > 12 { // more certificates only take longer
			changed = nil
		}
		var sent []*x509.Certificate
		for _, i := range order[:min(len(order), 12)] {
			switch {
			case int(i) < len(c.all):
				sent = append(sent, c.all[i])
			case changed != nil:
				sent = append(sent, changed)
			}
		}
		// Only the signed part counts, because a signature has two forms.
		has := func(list []*x509.Certificate, one *x509.Certificate) bool {
			return slices.ContainsFunc(list, func(c *x509.Certificate) bool { return bytes.Equal(c.RawTBSCertificate, one.RawTBSCertificate) })
		}
		isWorker := len(sent) > 0 && has(c.workers, sent[0])
		isHost := len(sent) > 0 && has([]*x509.Certificate{c.host}, sent[0]) && has(sent[1:], c.te)
		state := tls.ConnectionState{HandshakeComplete: true, PeerCertificates: sent}
		for name, check := range map[string]struct {
			verify func(tls.ConnectionState) error
			may    bool
		}{"as a worker": {worker, isWorker}, "as a host of the job": {ofJob, isHost}} {
			err := check.verify(state)
			if err == nil && !check.may {
				t.Errorf("%v is believed %s", order, name)
			}
			if err != nil && check.may && changed == nil {
				t.Errorf("%v is refused %s: %v", order, name, err)
			}
		}
	})
}
