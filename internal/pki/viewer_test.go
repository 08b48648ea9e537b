package pki

import (
	"testing"
	"time"
)

// TestTheTokenToViewOutlivesTheMaster would catch a token that Prometheus must be told anew after each failover, one that is
// the same for two applications, and a digest that an empty token matches.
func TestTheTokenToViewOutlivesTheMaster(t *testing.T) {
	t.Parallel()
	viewer := func(a *Authority) Token {
		token, err := a.Viewer()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first := authority(t, "application_1_0001")
	stored, err := first.PEM()
	if err != nil {
		t.Fatal(err)
	}
	next, err := ParseAuthority("application_1_0001", stored)
	if err != nil {
		t.Fatal(err)
	}
	token := viewer(first)
	if !viewer(next).Matches(token.Reveal()) || len(token.Reveal()) < 43 {
		t.Errorf("the next master has another token, or the token is short: %d characters", len(token.Reveal()))
	}
	if viewer(authority(t, "application_1_0001")).Matches(token.Reveal()) {
		t.Error("another authority has the same token")
	}
	if !MatchesDigest(token.Digest(), token.Reveal()) {
		t.Error("the token does not match its digest")
	}
	for digest, sent := range map[string]string{token.Digest(): "", "": "", Token{}.Digest(): token.Reveal(), token.Digest() + " ": token.Reveal()} {
		if MatchesDigest(digest, sent) {
			t.Errorf("%q matches the digest %q", sent, digest)
		}
	}
}

// TestOthersVerifyAWorkerByItsHost would catch a certificate that Prometheus refuses.
func TestOthersVerifyAWorkerByItsHost(t *testing.T) {
	t.Parallel()
	a := authority(t, "application_1_0001")
	worker, err := a.IssueTaskExecutor("container_1_0001_01_000002", time.Now(), "node2.example", "10.0.0.2")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"node2.example": true, "10.0.0.2": true, "node3.example": false} {
		if err := worker.chain[0].VerifyHostname(host); (err == nil) != want {
			t.Errorf("for %s: %v", host, err)
		}
	}
}
