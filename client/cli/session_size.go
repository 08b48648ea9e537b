package cli

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// adviceTime is how long a hint may take.
const adviceTime = time.Second

// adviseOnSize warns of a job that the nodes of its session's YARN can hardly hold. It is a
// hint: where anything is not known, nothing is said.
func (s *session) adviseOnSize(ctx context.Context, slots int) {
	on, is := s.site.(*onYARN)
	if !is {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	defer cancel()
	supply, err := s.reached.SlotSupply(ctx)
	if err != nil {
		return
	}
	if text, err := on.cluster.TooLarge(ctx, slots, supply, s.cfg.Duration(config.SlotRequestTimeout)); err == nil && text != "" {
		s.say.Line("%s", text)
	}
}
