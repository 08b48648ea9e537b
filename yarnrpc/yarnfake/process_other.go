//go:build !unix

package yarnfake

import (
	"context"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// runProcess refuses: process groups and bash are Unix's.
func runProcess(context.Context, *run, places) (records.ExitStatus, string) {
	return localizationFailed, "containers are processes on Unix only: set Config.Run"
}
