package doctor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// newTokens is the remedy for tokens that are no longer valid.
const newTokens = "get new tokens from the launcher that wrote the file, or unset " + creds.FileVariable

// tokenFile checks the tokens that another launcher passed in, if there are any. Only its server knows that a
// token was canceled, or that nobody renewed it: later checks log in with the tokens.
func (v *visit) tokenFile() []Finding {
	path := v.Getenv(creds.FileVariable)
	if path == "" {
		return nil
	}
	held, err := creds.ReadFile(path)
	if err != nil {
		return []Finding{failed(fmt.Sprintf("%s: %s", creds.FileVariable, oneLine(err)), newTokens)}
	}
	if len(held.Tokens) == 0 {
		return []Finding{warning(path+" holds no tokens", newTokens)}
	}
	var findings []Finding
	for _, alias := range slices.Sorted(maps.Keys(held.Tokens)) {
		findings = append(findings, v.judgeToken(path, held.Tokens[alias]))
	}
	return findings
}

func (v *visit) judgeToken(path string, token *creds.Token) Finding {
	text := fmt.Sprintf("%s holds a %s for %s", path, token.Kind, token.Service)
	switch token.Kind {
	case creds.KindHDFSDelegation, creds.KindRMDelegation, creds.KindTimelineService:
	default:
		return ok(text)
	}
	about, err := identifier.DecodeDelegation(token)
	if err != nil {
		return failed(text+": "+oneLine(err), newTokens)
	}
	text += " of " + about.Owner
	if !v.Now().Before(about.Max) {
		return failed(text+", whose maximum lifetime ended at "+moment(about.Max), newTokens)
	}
	return ok(text + fmt.Sprintf(", which ends at %s at the latest", moment(about.Max)))
}
