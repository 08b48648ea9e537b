//go:build !unix

package yarnfake

import (
	"context"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// runProcess returns an error, because process groups and bash need Unix.
func runProcess(context.Context, *run, places) (records.ExitStatus, string) {
	return localizationFailed, "containers are processes on Unix only: set Config.Run"
}
