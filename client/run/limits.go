package run

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// limits are what options say of how jobs are followed, read once.
type limits struct {
	attached       bool          // jobs are followed to their ends
	endsWithClient bool          // a job that is followed ends with this command
	beat           time.Duration // between two signs of life of this command
	beatLasts      time.Duration // after its last sign of life this command is taken for dead
	patience       time.Duration // a server may be silent for so long of which nobody tells how it is
	patienceTold   string        // as it was set, with the name of its option
	slotWait       time.Duration // how long a job waits for a slot, where its cluster is started for it
}

func limitsOf(c config.Config) limits {
	return limits{
		attached: c.Bool(config.ExecutionAttached), endsWithClient: c.Bool(config.ShutdownOnAttachedExit),
		beat: c.Duration(config.ClientHeartbeatInterval), beatLasts: c.Duration(config.ClientHeartbeatTimeout),
		patience: c.Duration(config.ClientTimeout), patienceTold: c.Told(config.ClientTimeout),
		slotWait: c.Duration(config.SlotRequestTimeout),
	}
}
