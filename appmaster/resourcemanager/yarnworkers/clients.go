package yarnworkers

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrNoToken says that the container's credentials hold no AMRM token: YARN did not start the
// process as an ApplicationMaster.
var ErrNoToken = errors.New("credentials hold no AMRM token")

// firstStartWait is the first of the growing waits for a NodeManager that has just restarted. With
// the configured interval a worker would start up to 10 s later.
const firstStartWait = 200 * time.Millisecond

// Clients are the YARN clients of an application attempt, for a Config.
type Clients struct {
	ResourceManager *amrm.Client
	NodeManagers    *nmclient.Client
}

// Connect makes the Clients from the cluster's configuration and the credentials of the
// ApplicationMaster's container. It opens no connection. observe sees each try of a call, as yarnrpc.Options.Observe;
// it may be nil.
func Connect(conf *hadoopconf.Conf, attempt records.ApplicationAttemptID, credentials *creds.Credentials, observe func(yarnrpc.Try), logger logrus.FieldLogger) (*Clients, error) {
	rm, err := amrm.FromConf(conf)
	if err != nil {
		return nil, err
	}
	nm, err := nmclient.FromConf(conf)
	if err != nil {
		return nil, err
	}
	token := credentials.ByKind(creds.KindAMRM)
	if token == nil {
		return nil, fmt.Errorf("connect %s to YARN: %w", attempt, ErrNoToken)
	}
	rm.Policy = yarnrpc.Policy{} // the provider repeats its heartbeat itself, and must know when one is not answered
	nm.Policy.MaxDelay = nm.Policy.BaseDelay
	nm.Policy.BaseDelay = min(firstStartWait, nm.Policy.MaxDelay)
	rm.Attempt, rm.Token = attempt, token
	rm.RPC.Logger = logging.Slog(logger)
	nm.RPC.Logger = rm.RPC.Logger
	rm.RPC.Observe, nm.RPC.Observe = observe, observe
	return &Clients{ResourceManager: amrm.New(rm), NodeManagers: nmclient.New(nm)}, nil
}

// Close closes all connections. Call it after Run of the Provider.
func (c *Clients) Close() error {
	return errors.Join(c.ResourceManager.Close(), c.NodeManagers.Close())
}

// RegistrationAt is the registration of an application whose REST endpoint is at host and port.
// YARN shows this address in its reports, and its proxy uses it.
func RegistrationAt(host string, port int) amrm.RegisterRequest {
	return amrm.RegisterRequest{
		Host: host, RPCPort: port, TrackingURL: "http://" + net.JoinHostPort(host, strconv.Itoa(port)),
	}
}
