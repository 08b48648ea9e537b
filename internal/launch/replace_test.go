package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// TestWorkersWaitLongerThanYARNNeeds would catch a worker that ends before YARN has replaced its master, whichever of the
// two times is the longer one.
func TestWorkersWaitLongerThanYARNNeeds(t *testing.T) {
	t.Parallel()
	const am, nm = "yarn.am.liveness-monitor.expiry-interval-ms", "yarn.nm.liveness-monitor.expiry-interval-ms"
	for _, c := range []struct {
		properties map[string]string
		want       time.Duration
	}{
		{nil, 16 * time.Minute},
		{map[string]string{am: "8000"}, 11 * time.Minute},
		{map[string]string{am: "8000", nm: "9000"}, 69 * time.Second},
		{map[string]string{nm: "1200000"}, 21 * time.Minute},
		{map[string]string{am: "0", nm: "5000"}, 16 * time.Minute},
	} {
		carried, err := new(hadoopconf.Conf).With("test", c.properties).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ReplaceTime(carried); err != nil || got != c.want {
			t.Errorf("%v: %s, %v, want %s", c.properties, got, err, c.want)
		}
	}
	carried, err := new(hadoopconf.Conf).With("test", map[string]string{am: "soon"}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReplaceTime(carried); err == nil || !strings.Contains(err.Error(), am) {
		t.Errorf("a time that is none: %v", err)
	}
}
