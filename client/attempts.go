package client

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// YARN's properties that limit the attempts of an application: the first limits what applications ask for, and
// is by default the second (RMAppImpl).
const (
	globalAttempts  = "yarn.resourcemanager.am.global.max-attempts"
	defaultAttempts = "yarn.resourcemanager.am.max-attempts"
)

// yarnAttempts is YARN's own value of defaultAttempts (yarn-default.xml).
const yarnAttempts = 2

// Attempts says how often YARN starts the ApplicationMaster of an application.
type Attempts struct {
	Asked int    // by the options
	Most  int    // that YARN allows, as far as this machine knows its configuration
	By    string // the property of Most
}

// AttemptsOf reads the options and Hadoop's configuration on this machine, which may differ from that of the
// ResourceManager. Its error is one of Hadoop's configuration.
func AttemptsOf(c config.Config, conf *hadoopconf.Conf) (Attempts, error) {
	a := Attempts{Asked: c.Int(config.YarnApplicationAttempts), Most: yarnAttempts, By: defaultAttempts}
	for _, property := range []string{globalAttempts, defaultAttempts} {
		most, err := conf.Int(property)
		if err != nil {
			return a, err
		}
		if most > 0 {
			a.Most, a.By = int(min(most, 1<<31-1)), property
			break
		}
	}
	return a, nil
}

// Effective is how often YARN starts the ApplicationMaster at most, if failures follow each other quickly.
func (a Attempts) Effective() int { return min(a.Asked, a.Most) }

// Advice says that YARN allows fewer attempts than the options ask for; "" if it allows them.
func (a Attempts) Advice() string {
	switch {
	case a.Asked <= a.Most:
		return ""
	case a.Most == 1:
		return fmt.Sprintf("YARN starts no second ApplicationMaster, because %s is 1: if the ApplicationMaster dies, the application fails", a.By)
	default:
		return fmt.Sprintf("YARN starts the ApplicationMaster %d times at most, and not %d times (%s)", a.Most, a.Asked, a.By)
	}
}

// told is what the client prints of the attempts when it submits; "" if the options ask for one.
func (a Attempts) told() string {
	if advice := a.Advice(); advice != "" || a.Asked == 1 {
		return advice
	}
	return fmt.Sprintf("YARN starts the ApplicationMaster %d times at most", a.Asked)
}
