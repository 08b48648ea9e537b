package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestAttemptsDependOnHighAvailability would catch a cluster without high availability that starts its job again from
// the beginning, and one with it that does not outlive its ApplicationMaster. It would also catch a default that
// differs between its readers.
func TestAttemptsDependOnHighAvailability(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pairs    []string
		has      bool
		attempts int
		told     string
		validity time.Duration
	}{
		{nil, true, 2, "2", 10 * time.Minute},
		{[]string{"high-availability.type", "YARN"}, true, 2, "2", 10 * time.Minute},
		{[]string{"high-availability.type", "none"}, false, 1, "1", 0},
		{[]string{"high-availability.type", "standalone"}, false, 1, "1", 0},
		{[]string{"high-availability.type", "NONE", "yarn.application-attempts", "4", "yarn.application-attempt-failures-validity-interval", "10000"}, false, 4, "4", 10 * time.Second},
		{[]string{"yarn.application-attempts", "1", "yarn.application-attempt-failures-validity-interval", "-1"}, true, 1, "1", 0},
	} {
		c := mustNew(t, layer("-D", test.pairs...))
		if HighAvailability(c) != test.has || c.Int(YarnApplicationAttempts) != test.attempts || AttemptFailuresValidity(c) != test.validity {
			t.Errorf("%v: high availability %t, %d attempts, window %v", test.pairs, HighAvailability(c), c.Int(YarnApplicationAttempts), AttemptFailuresValidity(c))
		}
		if told := c.Told(YarnApplicationAttempts); told != "yarn.application-attempts: "+test.told {
			t.Errorf("%v: told as %q", test.pairs, told)
		}
		if shown := c.Effective()[YarnApplicationAttempts.Name()]; shown != test.told {
			t.Errorf("%v: shown as %q", test.pairs, shown)
		}
	}
	const cell = "`2`, or `1` with `high-availability.type: NONE`"
	if !strings.Contains(Reference(), cell) {
		t.Errorf("the reference does not say %s", cell)
	}
}

// TestOtherKindsOfHighAvailabilityAreRefused would catch a user of ZooKeeper who learns only that a word is wrong, or
// whose cluster silently has another kind.
func TestOtherKindsOfHighAvailabilityAreRefused(t *testing.T) {
	t.Parallel()
	for value, says := range map[string]string{
		"ZOOKEEPER":           "-D: option high-availability.type: ZOOKEEPER is not supported yet, choose yarn or NONE",
		"kubernetes":          "-D: option high-availability.type: kubernetes is only for Kubernetes, choose yarn or NONE",
		"org.example.Factory": `-D: option high-availability.type: "org.example.Factory" is none of yarn, NONE`,
	} {
		if _, err := New(layer("-D", "high-availability.type", value)); !errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
