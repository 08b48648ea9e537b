package launch

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// yarnMargin is added to YARN's own time: YARN needs some seconds to start the next attempt, and it to lead.
const yarnMargin = time.Minute

// ReplaceTime is how long YARN may take until another ApplicationMaster leads, by the site settings that hadoopconf has
// marshalled: YARN replaces one that does not answer after one time, and one whose node does not answer after another.
func ReplaceTime(hadoopConf []byte) (time.Duration, error) {
	conf, err := hadoopconf.Parse(hadoopConf)
	if err != nil {
		return 0, err
	}
	var longest time.Duration
	for _, expiry := range []struct {
		name    string
		builtin time.Duration // the longest one among the supported versions of Hadoop
	}{
		{"yarn.am.liveness-monitor.expiry-interval-ms", 15 * time.Minute},
		{"yarn.nm.liveness-monitor.expiry-interval-ms", 10 * time.Minute},
	} {
		after, err := conf.Duration(expiry.name, time.Millisecond)
		if err != nil {
			return 0, fmt.Errorf("read when YARN replaces an ApplicationMaster: %w", err)
		}
		if after <= 0 {
			after = expiry.builtin
		}
		longest = max(longest, after)
	}
	return longest + yarnMargin, nil
}
