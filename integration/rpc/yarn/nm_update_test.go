package yarn

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestARunningContainerGetsMoreMemory would catch an update that the node is not told of: a container that is told to be larger on paper only is killed for what it was promised.
func TestARunningContainerGetsMoreMemory(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	containers := allocate(t, m, 1)
	it := containers[0]
	command := rpctest.Sleep()
	if err := m.NM.Start(t.Context(), it, run("exec "+command)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process runs", func() bool { return len(rpctest.Processes(t, command)) == 1 })
	if got := nodeMemory(t, it); got != rpctest.Unit().MemoryMB {
		t.Errorf("the NodeManager gives it %d MiB, want %d", got, rpctest.Unit().MemoryMB)
	}
	larger := records.Resource{MemoryMB: 3 * rpctest.Unit().MemoryMB, VCores: 1}
	if err := m.RM.Resize(it, larger); err != nil {
		t.Fatal(err)
	}
	var updated records.Container
	m.Heard = func(r amrm.Response) {
		for _, u := range r.Updated {
			updated = u.Container
		}
	}
	m.Await(t, "the ResourceManager grants it", "", func() bool { return updated.ID == it.ID })
	if err := m.NM.Update(t.Context(), updated); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the NodeManager gives it more memory", func() bool { return nodeMemory(t, it) == larger.MemoryMB })
	statuses, err := m.NM.Statuses(t.Context(), it.Node, it.ID)
	if err != nil || len(statuses) != 1 || statuses[0].Capability.MemoryMB != larger.MemoryMB || len(rpctest.Processes(t, command)) != 1 {
		t.Errorf("status is %+v, %v", statuses, err)
	}
	if err := m.NM.Update(t.Context(), updated); !errors.Is(err, yarnrpc.ErrYarn) || yarnrpc.MaybeSent(err) {
		t.Errorf("the same update again: %v", err)
	}
	if err := m.NM.Stop(t.Context(), it.Node, it.ID); err != nil {
		t.Error(err)
	}
}

// nodeMemory is the size of a container in its NodeManager's REST, MiB.
func nodeMemory(t *testing.T, it records.Container) int64 {
	t.Helper()
	url := "http://" + it.NodeHTTPAddress + "/ws/v1/node/containers/" + it.ID.String()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Container struct {
			TotalMemoryNeededMB int64 `json:"totalMemoryNeededMB"`
		} `json:"container"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Container.TotalMemoryNeededMB
}
