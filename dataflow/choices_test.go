package dataflow

import (
	"testing"
)

// It would catch a join that holds the larger side in memory, or broadcasts a side of which some elements may have no partner.
func TestJoinsAreChosenBySizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes, threshold string
		kind             outer
		want             JoinHint
	}{
		{"", "", inner, HashRight},
		{"?/10", "", inner, HashRight},
		{"5000000/10000000", "", inner, HashLeft},
		{"10000000/5000000", "", inner, HashRight},
		{"5000000/1048576", "", inner, BroadcastRight},
		{"5000000/1048577", "", inner, HashRight},
		{"9/10", "", inner, BroadcastLeft},
		{"9/10", "", leftOuter, BroadcastRight},
		{"10/9", "", rightOuter, BroadcastLeft},
		{"10/9", "", fullOuter, HashRight},
		{"9/10", "-1", inner, HashLeft},
	} {
		config := map[string]string{optionJoinSizes: c.sizes}
		if c.threshold != "" {
			config[optionBroadcastThreshold] = c.threshold
		}
		choices, err := newChoices(config)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := choices.join(c.kind, nil, nil); got != c.want || why == "" {
			t.Errorf("%v of %q bytes, threshold %q: %d, want %d; %s", c.kind, c.sizes, c.threshold, got, c.want, why)
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
