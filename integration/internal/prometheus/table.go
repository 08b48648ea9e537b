package prometheus

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
)

// notYet is the only metric that an application without failures does not have before its end.
const notYet = "Yarn.containersCompleted"

// checkTable waits until Prometheus knows each metric of docs/METRICS.md. It would catch a row that nobody gives.
func (s *Server) checkTable(t testing.TB) {
	t.Helper()
	wait.Satisfied(t, "each metric of the table is known", func() error {
		series, err := s.Query(wait.Context(t), `count by (__name__) ({__name__=~"bobbin_.+"})`)
		if err != nil {
			return err
		}
		known := make(map[string]bool)
		for _, one := range series {
			known[one.Labels["__name__"]] = true
		}
		for _, d := range metrics.Definitions() {
			if name := prom.Name(d.Level, d.Name); !known[name] && !known[name+"_count"] && d.Name != notYet {
				return fmt.Errorf("%s is missing; %d others are known", name, len(known))
			}
		}
		return nil
	})
}
