package dataflow

import (
	"strings"
	"testing"
)

// It would catch a join that holds the larger side in memory, one that broadcasts a side of which some elements may have no partner,
// and a reason that is not the true one.
func TestJoinsAreChosenBySizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes, threshold string
		kind             outer
		want             JoinHint
		why              string
	}{
		{"", "", inner, HashRight, "size unknown on both sides"},
		{"?/?", "-1", inner, HashRight, "size unknown on both sides"},
		{"?/10", "", inner, BroadcastRight, "10 bytes estimated"},
		{"10/?", "", inner, BroadcastLeft, "10 bytes estimated"},
		{"?/10", "", rightOuter, HashRight, "size unknown on the left side"},
		{"10/?", "", leftOuter, HashRight, "size unknown on the right side"},
		{"10/?", "", rightOuter, BroadcastLeft, "10 bytes estimated"},
		{"?/10", "", leftOuter, BroadcastRight, "10 bytes estimated"},
		{"?/10", "", fullOuter, HashRight, "size unknown on the left side"},
		{"5000000/?", "", inner, HashRight, "size unknown on the right side"},
		{"5000000/10000000", "", inner, HashLeft, "5.0 MB estimated, 10.0 MB on the other side"},
		{"10000000/5000000", "", inner, HashRight, "5.0 MB estimated"},
		{"5000000/1048576", "", inner, BroadcastRight, "threshold 1.0 MB"},
		{"5000000/1048577", "", inner, HashRight, "5.0 MB on the other side"},
		{"9/10", "", inner, BroadcastLeft, "9 bytes estimated"},
		{"9/10", "", leftOuter, BroadcastRight, "10 bytes estimated"},
		{"10/9", "", rightOuter, BroadcastLeft, "10 bytes estimated"},
		{"10/9", "", fullOuter, HashRight, "9 bytes estimated"},
		{"9/10", "", fullOuter, HashLeft, "9 bytes estimated"},
		{"9/10", "-1", inner, HashLeft, "9 bytes estimated"},
	} {
		config := map[string]string{optionJoinSizes: c.sizes}
		if c.threshold != "" {
			config[optionBroadcastThreshold] = c.threshold
		}
		choices, err := newChoices(config)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := choices.join(c.kind, nil, nil); got != c.want || !strings.Contains(why, c.want.String()) || !strings.Contains(why, c.why) {
			t.Errorf("%v of %q bytes, threshold %q: %v, want %v; %q, want %q", c.kind, c.sizes, c.threshold, got, c.want, why, c.why)
		}
	}
	for name, config := range map[string]map[string]string{
		"half": {optionJoinSizes: "1"}, "text": {optionJoinSizes: "1/a"}, "negative": {optionJoinSizes: "-1/1"}, "threshold": {optionBroadcastThreshold: "1m"},
	} {
		if _, err := newChoices(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
