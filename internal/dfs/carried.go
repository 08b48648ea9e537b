package dfs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// clusterPatience is how long the processes of a cluster retry a NameNode that does not answer. A
// failover takes less.
const clusterPatience = 3 * time.Minute

// Handed is what a process received from the process that started it. Carried makes its FS from it.
// The fields are those of Options.
type Handed struct {
	// HadoopConf is a configuration that hadoopconf's Marshal wrote. If it is empty, the FS serves
	// only the local disk.
	HadoopConf  []byte
	User        string
	Credentials func() *creds.Credentials
	Login       yarnrpc.Login
	Observe     func(yarnrpc.Try)
	ObserveData func(hdfs.Transfer)
	Logger      logrus.FieldLogger
	Patience    time.Duration // 0: 3 min
}

// Carried makes the FS of a process that another process started.
func Carried(h Handed) (*FS, error) {
	if len(h.HadoopConf) == 0 {
		return New(Options{Logger: h.Logger}), nil
	}
	conf, err := hadoopconf.Parse(h.HadoopConf)
	if err != nil {
		return nil, fmt.Errorf("open file systems: %w", err)
	}
	return New(Options{
		Conf: conf, User: h.User, Credentials: h.Credentials, Login: h.Login,
		Patience: cmp.Or(h.Patience, clusterPatience), Observe: h.Observe, ObserveData: h.ObserveData, Logger: h.Logger,
	}), nil
}
