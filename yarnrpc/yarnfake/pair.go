package yarnfake

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// front is what callers see of one ResourceManager. Both of a pair have the same books, as real ones
// have the same state store.
type front struct {
	client  *rpctest.Server // of ApplicationClientProtocol
	masters *rpctest.Server // of ApplicationMasterProtocol
}

// openFronts starts the servers of the ResourceManagers, and returns their addresses as properties of
// clients.
func (f *Fake) openFronts() (map[string]string, error) {
	if !f.cluster.HighAvailability {
		addresses := make(map[string]string)
		return addresses, f.openFront(addresses, "resourcemanager", "")
	}
	addresses := map[string]string{
		"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1,rm2", "yarn.resourcemanager.cluster-id": "yarnfake",
	}
	for _, id := range []string{"rm1", "rm2"} {
		if err := f.openFront(addresses, id, "."+id); err != nil {
			return nil, err
		}
	}
	return addresses, nil
}

// openFront starts the servers of one ResourceManager.
func (f *Fake) openFront(addresses map[string]string, host, suffix string) error {
	i := len(f.fronts)
	one := front{
		client: &rpctest.Server{
			Handler: f.ifActive(i, f.clientCall), Passwords: f.delegationPassword, Trusts: true, QOPs: f.cluster.qops,
		},
		masters: &rpctest.Server{Handler: f.ifActive(i, f.masterCall), Passwords: f.amrmPassword, QOPs: f.cluster.qops},
	}
	f.fronts = append(f.fronts, one)
	client, err := f.listen(one.client, host+":8032")
	if err != nil {
		return err
	}
	masters, err := f.listen(one.masters, host+":8030")
	addresses["yarn.resourcemanager.hostname"+suffix] = "127.0.0.1"
	addresses["yarn.resourcemanager.address"+suffix] = client
	addresses["yarn.resourcemanager.scheduler.address"+suffix] = masters
	return err
}

// Standby makes the active ResourceManager a standby until Standby(false). As in YARN, a standby breaks
// its connections and refuses new ones. With sockets it answers StandbyException instead, because a closed
// socket could lose its port; yarnrpc treats both alike. When the ResourceManager is active again, it knows
// what RestartResourceManagerAlone leaves.
func (f *Fake) Standby(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if on {
		f.stepDownLocked()
	} else {
		f.takeOverLocked(f.active)
	}
}

// FailOver makes the active one of two ResourceManagers (Config.HighAvailability) a standby, and the
// other one active. The other one knows what RestartResourceManagerAlone leaves.
func (f *Fake) FailOver() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stepDownLocked()
	f.takeOverLocked((f.active + 1) % len(f.fronts))
}

func (f *Fake) stepDownLocked() {
	f.standby = true
	f.disconnect()
}

func (f *Fake) takeOverLocked(i int) {
	if f.standby {
		f.stepLocked(books.Restarted{})
		f.standby, f.active = false, i
	}
}

// ifActive returns a handler of the calls to a ResourceManager that may be a standby.
func (f *Fake) ifActive(i int, handler rpctest.Handler) rpctest.Handler {
	return func(call *rpctest.Call) (proto.Message, error) {
		if f.standsBy(i) {
			return nil, rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "ResourceManager is not active")
		}
		return handler(call)
	}
}

// standsBy reports whether the ResourceManager with this front is a standby.
func (f *Fake) standsBy(i int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.standby || i != f.active
}

// refuses reports whether a server is that of a standby.
func (f *Fake) refuses(server *rpctest.Server) bool {
	i := slices.IndexFunc(f.fronts, func(one front) bool { return one.client == server || one.masters == server })
	return i >= 0 && f.standsBy(i)
}

// disconnect breaks the connections to the ResourceManager.
func (f *Fake) disconnect() {
	for _, one := range f.fronts {
		one.client.Disconnect()
		one.masters.Disconnect()
	}
}
