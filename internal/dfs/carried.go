package dfs

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// clusterPatience is how long the processes of a cluster try a NameNode that
// does not answer: longer than a fail-over takes.
const clusterPatience = 3 * time.Minute

// Carried makes the FS of a process that another one started, from the Hadoop
// configuration that it was handed (hadoopconf's Marshal). Without one it serves
// the local disk alone.
func Carried(configuration []byte, user string, logger logrus.FieldLogger) (*FS, error) {
	if len(configuration) == 0 {
		return New(Options{Logger: logger}), nil
	}
	conf, err := hadoopconf.Parse(configuration)
	if err != nil {
		return nil, fmt.Errorf("open file systems: %w", err)
	}
	return New(Options{Conf: conf, User: user, Patience: clusterPatience, Logger: logger}), nil
}
