package yarndriver

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrNoToken says that the container's credentials hold no AMRM token: the
// process was not started by YARN as an ApplicationMaster.
var ErrNoToken = errors.New("credentials hold no AMRM token")

// Clients are an application attempt's clients of YARN, for a Config.
type Clients struct {
	ResourceManager *amrm.Client
	NodeManagers    *nmclient.Client
}

// Connect makes them from the cluster's configuration and the credentials of the
// ApplicationMaster's container. Nothing is connected yet.
func Connect(conf *hadoopconf.Conf, attempt records.ApplicationAttemptID, credentials *creds.Credentials, logger logrus.FieldLogger) (*Clients, error) {
	rms, err := conf.ResourceManagers()
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, rm := range rms {
		addresses = append(addresses, rm.Scheduler)
	}
	token := credentials.ByKind(creds.KindAMRM)
	if token == nil {
		return nil, fmt.Errorf("connect %s to YARN: %w", attempt, ErrNoToken)
	}
	return &Clients{
		ResourceManager: amrm.New(amrm.Options{Addresses: addresses, Attempt: attempt, Token: token, Logger: logger}),
		NodeManagers:    nmclient.New(nmclient.Options{Logger: logger}),
	}, nil
}

// Close ends all connections; after the Driver's Run.
func (c *Clients) Close() error {
	return errors.Join(c.ResourceManager.Close(), c.NodeManagers.Close())
}

// RegistrationAt is the registration of an application whose REST endpoint is at
// host and port: YARN's reports and its proxy lead there.
func RegistrationAt(host string, port int) amrm.RegisterRequest {
	return amrm.RegisterRequest{
		Host: host, RPCPort: port, TrackingURL: "http://" + net.JoinHostPort(host, strconv.Itoa(port)),
	}
}
