package tokenmanager

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// Obtained are new tokens.
type Obtained struct {
	// Credentials has the tokens, by their services. Nil: there are none.
	Credentials *creds.Credentials
	// Ends is when the first token ends unless it is replaced; zero: there are none.
	Ends time.Time
}

func (o Obtained) empty() bool { return o.Credentials == nil || len(o.Credentials.Tokens) == 0 }

// life is the life of a token, which YARN renews until it ends for good.
type life struct {
	service      string
	issued, ends time.Time // zero: there is no token
}

// shortest returns the life of the token that ends first; interval is the time between two renewals. The
// error names tokens whose end cannot be read; the others count.
func shortest(c *creds.Credentials, interval time.Duration) (life, error) {
	var first life
	var faults []error
	for _, alias := range slices.Sorted(maps.Keys(c.Tokens)) {
		token := c.Tokens[alias]
		about, err := identifier.DecodeDelegation(token)
		if err != nil {
			faults = append(faults, fmt.Errorf("read the lifetime of %v: %w", token, err))
			continue
		}
		if ends := about.Ends(interval); first.ends.IsZero() || ends.Before(first.ends) {
			first = life{service: token.Service, issued: about.Issued, ends: ends}
		}
	}
	return first, errors.Join(faults...)
}

// replaced returns old with new tokens in place of those of the same services. It shares the tokens with
// its arguments, and nothing else.
func replaced(old, with *creds.Credentials) *creds.Credentials {
	merged := creds.New()
	//bobbin:anyorder each token keeps its own alias
	for alias, token := range old.Tokens {
		if with.Select(token.Kind, token.Service) == nil {
			merged.Tokens[alias] = token
		}
	}
	merged.AddAll(with)
	return merged
}
