package dfs

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// clusterPatience is how long the processes of a cluster try a NameNode that
// does not answer: longer than a fail-over takes.
const clusterPatience = 3 * time.Minute

// Handed is what a process was handed by the one that started it, of which Carried makes
// its FS. The fields are those of Options.
type Handed struct {
	// HadoopConf is a configuration by hadoopconf's Marshal. Without one the local disk
	// alone is served.
	HadoopConf  []byte
	User        string
	Credentials func() *creds.Credentials
	// Tokens are what creds.Credentials.Marshal gave, for an FS that lives no longer than
	// they do; in place of Credentials. Nil: none.
	Tokens []byte
	Login  yarnrpc.Login
	Logger logrus.FieldLogger
}

// Carried makes the FS of a process that another one started.
func Carried(h Handed) (*FS, error) {
	if len(h.HadoopConf) == 0 {
		return New(Options{Logger: h.Logger}), nil
	}
	conf, err := hadoopconf.Parse(h.HadoopConf)
	if err != nil {
		return nil, fmt.Errorf("open file systems: %w", err)
	}
	if h.Tokens != nil {
		tokens, err := creds.Parse(h.Tokens)
		if err != nil {
			return nil, fmt.Errorf("open file systems: %w", err)
		}
		h.Credentials = func() *creds.Credentials { return tokens }
	}
	return New(Options{
		Conf: conf, User: h.User, Credentials: h.Credentials, Login: h.Login,
		Patience: clusterPatience, Logger: h.Logger,
	}), nil
}
