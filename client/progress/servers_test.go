package progress

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// TestSilentServersAreNamedOnce would catch a command that waits without a message, and one that prints every
// try.
func TestSilentServersAreNamedOnce(t *testing.T) {
	var out bytes.Buffer
	logger := Servers(&out)
	refused := errors.New("connection refused")
	for range 3 {
		logger.WithError(refused).WithField("address", "rm:8032").Warn("call failed and will be tried again")
		logger.WithError(refused).WithField("address", "nn:8020").Warn("call failed and will be tried again")
	}
	logger.WithError(refused).WithField("address", "dn:9866").Debug("not for people")
	logger.WithField("address", "dn:9866").Warn("no error at all")
	standby := &yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"}
	logger.WithError(fmt.Errorf("call: %w", standby)).WithField("address", "rm2:8032").Warn("the server did answer")
	logger.WithError(fmt.Errorf("call: %w", kerberos.ErrExpired)).WithField("address", "rm2:8032").Warn("told at the end")
	logger.WithError(sasl.ErrProtection).WithField("address", "rm2:8032").Warn("told at the end")
	logger.WithError(kerberos.ErrKDC).WithField("address", "rm3:8032").Warn("nobody asked the server")
	safe := &yarnrpc.RemoteError{Address: "nn2:8020", Method: "mkdirs", Class: "org.apache.hadoop.hdfs.server.namenode.SafeModeException", Message: "Cannot create /x."}
	logger.WithError(safe).WithField("address", "nn2:8020").Warn("call failed and will be tried again")
	logger.WithError(refused).Error("reported otherwise")
	want := "rm:8032 does not answer, trying again: connection refused\nnn:8020 does not answer, trying again: connection refused\n" +
		"no login at rm3:8032, trying again: " + kerberos.ErrKDC.Error() + "\n" +
		"nn2:8020 is not ready, trying again: mkdirs on nn2:8020: SafeModeException: Cannot create /x.\n"
	if got := out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
