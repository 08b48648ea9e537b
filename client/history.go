package client

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Attempts lists the ApplicationMasters that YARN has started for an application, the first one first.
func (c *Cluster) Attempts(ctx context.Context, id records.ApplicationID) ([]records.AttemptReport, error) {
	attempts, err := c.YARN.Attempts(ctx, id)
	slices.SortFunc(attempts, func(a, b records.AttemptReport) int { return cmp.Compare(a.ID.Attempt, b.ID.Attempt) })
	return attempts, err
}

// mostReason is the largest length of a reason, in bytes.
const mostReason = 300

// YARN's words around the reason why an ApplicationMaster has ended (RMAppAttemptImpl#getAMContainerCrashedDiagnostics).
var (
	crash = regexp.MustCompile(`AM Container for appattempt_\w+ exited with\s+exitCode: (-?\d+)\s+(?:Failing this attempt\.)?(?:Diagnostics: )?`)
	stamp = regexp.MustCompile(`\[\d{4}-\d\d-\d\d [^\]]*\]`)
)

// EndOfAttempt explains in one line why an ApplicationMaster has ended: by its last output, or else by YARN's
// diagnostics, shortened; "" if YARN gives no reason.
func EndOfAttempt(a records.AttemptReport) string {
	text := a.Diagnostics
	if words, found := lastWords(text); found {
		text = words
	} else {
		text, _, _ = strings.Cut(text, "For more detailed output, check")
		text = crash.ReplaceAllString(stamp.ReplaceAllString(text, " "), "exit code $1: ")
	}
	text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ":")
	if len(text) > mostReason {
		text = strings.ToValidUTF8(text[:mostReason], "") + " …"
	}
	return text
}
