package tokenmanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// nameNodes simulates file systems by their URIs.
type nameNodes struct {
	issue func(uri string) (*creds.Token, error)
	renew func(uri string) (time.Time, error)

	mu       sync.Mutex // guards renewers
	renewers []string
}

func (n *nameNodes) DelegationToken(_ context.Context, uri, renewer string) (*creds.Token, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.renewers = append(n.renewers, renewer)
	return n.issue(uri)
}

func (n *nameNodes) RenewDelegationToken(_ context.Context, uri string, t *creds.Token) (time.Time, error) {
	if t.Service != uri {
		return time.Time{}, fmt.Errorf("token of %s is renewed at %s", t.Service, uri)
	}
	return n.renew(uri)
}

// TestHadoopFSAsksEveryFileSystem would catch one failing NameNode for which the tokens of all others are
// lost, an end that is later than that of the first token, and a file system without tokens that counts as
// a failure.
func TestHadoopFSAsksEveryFileSystem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		roots  []string
		tokens string // services that are obtained
		ends   time.Duration
		faults []string // parts of the error
	}{
		"all answer":                       {[]string{"hdfs://a/", "hdfs://b/"}, "hdfs://a/ hdfs://b/", time.Hour, nil},
		"an open cluster among them":       {[]string{"hdfs://open/", "hdfs://b/"}, "hdfs://b/", 2 * time.Hour, nil},
		"nothing but open clusters":        {[]string{"hdfs://open/"}, "", 0, nil},
		"one is away":                      {[]string{"hdfs://away/", "hdfs://b/"}, "hdfs://b/", 2 * time.Hour, []string{"hdfs://away/", "no answer"}},
		"one takes us for another renewer": {[]string{"hdfs://a/", "hdfs://strict/"}, "hdfs://a/", time.Hour, []string{"hdfs://strict/", "not the renewer", "alice@EXAMPLE.COM"}},
		"all fail":                         {[]string{"hdfs://away/", "hdfs://strict/"}, "", 0, []string{"hdfs://away/", "hdfs://strict/"}},
		"there are none":                   {nil, "", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers := &nameNodes{
				issue: func(uri string) (*creds.Token, error) {
					switch uri {
					case "hdfs://away/":
						return nil, errors.New("no answer")
					case "hdfs://open/":
						return nil, fmt.Errorf("get token: %w", dfs.ErrNoTokens)
					}
					return token(uri, "new"), nil
				},
				renew: func(uri string) (time.Time, error) {
					switch uri {
					case "hdfs://strict/":
						return time.Time{}, errors.New("alice is not the renewer")
					case "hdfs://a/":
						return testEpoch.Add(time.Hour), nil
					}
					return testEpoch.Add(2 * time.Hour), nil
				},
			}
			got, err := (&HadoopFS{Files: servers, Roots: test.roots, Renewer: "alice@EXAMPLE.COM"}).Obtain(t.Context())
			if tokens := strings.ReplaceAll(strings.ReplaceAll(show(got.Credentials), "=new", ""), ",", " "); tokens != test.tokens {
				t.Errorf("tokens of %q, want %q", tokens, test.tokens)
			}
			var ends time.Duration
			if !got.Ends.IsZero() {
				ends = got.Ends.Sub(testEpoch)
			}
			if ends != test.ends {
				t.Errorf("the first ends after %v, want %v", ends, test.ends)
			}
			if (err != nil) != (len(test.faults) > 0) {
				t.Errorf("error %v, want one about %q", err, test.faults)
			}
			for _, fault := range test.faults {
				if err != nil && !strings.Contains(err.Error(), fault) {
					t.Errorf("error %v does not tell of %s", err, fault)
				}
			}
			for _, renewer := range servers.renewers {
				if renewer != "alice@EXAMPLE.COM" {
					t.Errorf("renewer is %s", renewer)
				}
			}
		})
	}
}

// week is a NameNode whose tokens end after a day, and for good after a week.
type week struct {
	now    time.Time
	away   error
	issued int
	ends   map[*creds.Token]time.Time
	dead   []*creds.Token // tokens that were renewed too late
}

func (w *week) DelegationToken(_ context.Context, uri, _ string) (*creds.Token, error) {
	if w.away != nil {
		return nil, w.away
	}
	w.issued++
	token := delegation(uri, w.now, w.now.Add(7*24*time.Hour))
	w.ends[token] = w.now.Add(24 * time.Hour)
	return token, nil
}

func (w *week) RenewDelegationToken(_ context.Context, _ string, token *creds.Token) (time.Time, error) {
	about, err := identifier.DecodeDelegation(token)
	if err != nil {
		return time.Time{}, err
	}
	if !w.now.Before(w.ends[token]) {
		if about.Max.After(w.now) {
			w.dead = append(w.dead, token)
		}
		return time.Time{}, &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken", Message: "it has ended"}
	}
	w.ends[token] = w.now.Add(min(24*time.Hour, about.Max.Sub(w.now)))
	return w.ends[token], nil
}

// TestLogsOfAWeekAreWritten would catch tokens that end after their first day, although a NodeManager must
// write logs with them when the job ends; and tokens that are renewed for ever.
func TestLogsOfAWeekAreWritten(t *testing.T) {
	t.Parallel()
	nameNode := &week{now: testEpoch, ends: make(map[*creds.Token]time.Time)}
	provider := &HadoopFS{Files: nameNode, Roots: []string{"hdfs://a/"}}
	for range 30 {
		if _, err := provider.Obtain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if living := len(provider.former["hdfs://a/"]); living > 10 {
			t.Fatalf("%d tokens are renewed", living)
		}
		nameNode.now = nameNode.now.Add(18 * time.Hour)
	}
	if len(nameNode.dead) > 0 || nameNode.issued != 30 {
		t.Errorf("of %d tokens, %d have died early", nameNode.issued, len(nameNode.dead))
	}
	for _, nameNode.away = range []error{errors.New("no answer"), dfs.ErrNoTokens} {
		if _, err := provider.Obtain(t.Context()); !errors.Is(err, nameNode.away) || len(provider.former["hdfs://a/"]) == 0 {
			t.Errorf("while the NameNode gives no tokens, the others are forgotten, %v", err)
		}
	}
	nameNode.away = nil
	for range 100 { // as if another file system did not answer
		if _, err := provider.Obtain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if kept := len(provider.former["hdfs://a/"]); kept > maxFormer {
		t.Errorf("%d tokens are renewed", kept)
	}
}
