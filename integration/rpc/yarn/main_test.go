// Package yarn tests the typed YARN clients against real daemons: submission, the life of an
// ApplicationMaster, containers, and features that are off by default.
package yarn

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// atOnce is the number of parallel tests. Each is a few clients that wait.
const atOnce = 12

func TestMain(m *testing.M) {
	if err := rpctest.AtOnce(atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(rpctest.Main(m, map[string]rpctest.Scenario{
		"echo": echo, "collector": tellCollector, "bequeath": bequeath, "restart": outliveResourceManager,
	}))
}

// echo runs two containers to their end.
func echo(ctx context.Context, m *rpctest.Contained) error {
	m.Ask(2)
	return m.Until(ctx, "two containers have ended", "echo from a container", func() bool { return len(m.Completed) == 2 })
}
