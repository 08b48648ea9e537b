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
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// nameNodes play file systems by their URIs.
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

// TestHadoopFSAsksEveryFileSystem would catch one failing NameNode that takes the tokens
// of all others with it, an end that is later than the first to come, and a file system
// without tokens that counts as a failure.
func TestHadoopFSAsksEveryFileSystem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		roots  []string
		tokens string // services that are obtained
		ends   time.Duration
		faults []string // that the error tells
	}{
		"all answer":                       {[]string{"hdfs://a/", "hdfs://b/"}, "hdfs://a/ hdfs://b/", time.Hour, nil},
		"an open cluster among them":       {[]string{"hdfs://open/", "hdfs://b/"}, "hdfs://b/", 2 * time.Hour, nil},
		"nothing but open clusters":        {[]string{"hdfs://open/"}, "", 0, nil},
		"one is away":                      {[]string{"hdfs://away/", "hdfs://b/"}, "hdfs://b/", 2 * time.Hour, []string{"hdfs://away/", "no answer"}},
		"one takes us for another renewer": {[]string{"hdfs://a/", "hdfs://strict/"}, "hdfs://a/", time.Hour, []string{"hdfs://strict/", "not the renewer"}},
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
			got, err := HadoopFS{Files: servers, Roots: test.roots, Renewer: "alice@EXAMPLE.COM"}.Obtain(t.Context())
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
