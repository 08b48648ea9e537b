package dfs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// It would catch an unusable token: for another service than its clients look for, or with another
// renewer than requested.
func TestTokensAreIssuedRenewedAndCancelled(t *testing.T) {
	t.Parallel()
	for _, nameNodes := range []int{1, 2} {
		onHDFS(t, hdfsfake.Config{NameNodes: nameNodes, Tokens: true}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
			ctx := t.Context()
			root, err := f.Root("/some/where")
			if err != nil || root != "hdfs://"+fake.Authority()+"/" {
				t.Errorf("the root is %q, %v", root, err)
			}
			token, err := f.DelegationToken(ctx, root, "rm")
			if err != nil {
				t.Fatal(err)
			}
			about, err := identifier.DecodeDelegation(token)
			if err != nil || about.Owner != "alice" || about.Renewer != "rm" {
				t.Errorf("the token is of %+v, %v", about, err)
			}
			held := creds.New()
			held.Tokens["any name"] = token
			if found, err := f.TokenOf(ctx, root, held); err != nil || found != token {
				t.Errorf("among the tokens is %v, %v", found, err)
			}
			if _, err := f.RenewDelegationToken(ctx, root, token); !errors.Is(err, yarnrpc.ErrAccessControl) {
				t.Errorf("its owner renews it: %v, want %v", err, yarnrpc.ErrAccessControl)
			}
			renewer := New(Options{Conf: fake.Conf(), User: "rm", Dial: fake.Dial})
			defer renewer.Close()
			if ends, err := renewer.RenewDelegationToken(ctx, root, token); err != nil || !ends.Equal(time.Now().Add(24*time.Hour).Truncate(time.Millisecond)) {
				t.Errorf("its renewer renews it until %v, %v", ends, err)
			}
			if err := f.CancelDelegationToken(ctx, root, token); err != nil {
				t.Error(err)
			}
			if _, err := renewer.RenewDelegationToken(ctx, root, token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
				t.Errorf("after it was cancelled: %v, want %v", err, yarnrpc.ErrInvalidToken)
			}
		})
	}
}

// It would catch an open cluster that counts as broken: no job could start there.
func TestSomeFileSystemsHaveNoTokens(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, _ *hdfsfake.Fake) {
		for _, uri := range []string{"/", "file:///tmp"} {
			if _, err := f.DelegationToken(t.Context(), uri, "rm"); !errors.Is(err, ErrNoTokens) {
				t.Errorf("%s: %v, want %v", uri, err, ErrNoTokens)
			}
			if found, err := f.TokenOf(t.Context(), uri, creds.New()); found != nil || err != nil {
				t.Errorf("%s: among none is %v, %v", uri, found, err)
			}
		}
		none := &creds.Token{}
		_, renewed := f.RenewDelegationToken(t.Context(), "file:///tmp", none)
		for _, err := range []error{renewed, f.CancelDelegationToken(t.Context(), "file:///tmp", none)} {
			if !errors.Is(err, ErrNoTokens) {
				t.Errorf("of the local disk: %v, want %v", err, ErrNoTokens)
			}
		}
		for _, wrong := range []string{"", "s3a://bucket/x"} {
			_, issued := f.DelegationToken(t.Context(), wrong, "rm")
			_, root := f.Root(wrong)
			_, found := f.TokenOf(t.Context(), wrong, creds.New())
			if issued == nil || root == nil || found == nil {
				t.Errorf("%q has a token: %v, %v, %v", wrong, issued, root, found)
			}
		}
	})
}

// Workers have only tokens, and get new ones while they run. The test would catch a process that
// does not use its tokens, or uses the first ones forever.
func TestConnectionsShowTheNewestToken(t *testing.T) {
	t.Parallel()
	onHDFS(t, hdfsfake.Config{Tokens: true}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(10))
		tokens := make([]*creds.Token, 2)
		for i := range tokens {
			var err error
			if tokens[i], err = f.DelegationToken(t.Context(), "/", "rm"); err != nil {
				t.Fatal(err)
			}
		}
		held := creds.New()
		held.Tokens["hdfs"] = tokens[0]
		conf, err := fake.Conf().Marshal()
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := hadoopconf.Parse(conf)
		if err != nil {
			t.Fatal(err)
		}
		worker := New(Options{
			Conf: parsed, User: "alice", Dial: fake.Dial, Patience: testPatience,
			Credentials: func() *creds.Credentials { return held },
		})
		defer worker.Close()
		read := func() error {
			_, err := worker.ReadFile(t.Context(), "/file", 10)
			return err
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		if err := f.CancelDelegationToken(t.Context(), "/", tokens[0]); err != nil {
			t.Fatal(err)
		}
		fake.StopNameNode(0) // which ends connections
		fake.StartNameNode(0)
		if err := read(); !NeedsTokens(err) {
			t.Errorf("with a token that was cancelled: %v, which is no reason to wait for new tokens", err)
		}
		next := creds.New()
		next.Tokens["hdfs"] = tokens[1]
		held = next
		if err := read(); err != nil {
			t.Errorf("with the new token: %v", err)
		}
		shown := slices.DeleteFunc(fake.Calls("getLocatedFileInfo"), func(c hdfsfake.Call) bool { return !c.Token || c.User != "alice" })
		if len(shown) < 2 {
			t.Errorf("calls with tokens: %+v", shown)
		}
	})
}
