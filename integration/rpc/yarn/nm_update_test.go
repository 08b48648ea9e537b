package yarn

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// A container that is told to be larger on paper only is killed for what it was promised.
func TestARunningContainerGetsMoreMemory(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	m, _ := unmanaged(t, c)
	containers, _ := m.allocate(t, 1)
	it := containers[0]
	const command = "sleep 5501.25"
	if err := m.nm.Start(t.Context(), it, run("exec "+command)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the process runs", func() bool { return processes(t, command) == 1 })
	if got := nodeMemory(t, it); got != unit.MemoryMB {
		t.Errorf("the NodeManager gives it %d MiB, want %d", got, unit.MemoryMB)
	}
	larger := records.Resource{MemoryMB: 3 * unit.MemoryMB, VCores: 1}
	if err := m.rm.Resize(it, larger); err != nil {
		t.Fatal(err)
	}
	var updated records.Container
	wait.Until(t, "the ResourceManager grants it", func() bool {
		r, err := m.rm.Allocate(t.Context(), 0.5)
		if err != nil {
			t.Fatal(err)
		}
		m.nm.SetTokens(r.NMTokens)
		for _, u := range r.Updated {
			updated = u.Container
		}
		return updated.ID == it.ID
	})
	if err := m.nm.Update(t.Context(), updated); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the NodeManager gives it more memory", func() bool { return nodeMemory(t, it) == larger.MemoryMB })
	statuses, err := m.nm.Statuses(t.Context(), it.Node, it.ID)
	if err != nil || len(statuses) != 1 || statuses[0].Capability.MemoryMB != larger.MemoryMB || processes(t, command) != 1 {
		t.Errorf("status is %+v, %v", statuses, err)
	}
	if err := m.nm.Update(t.Context(), updated); !errors.Is(err, yarnrpc.ErrYarn) || yarnrpc.MaybeSent(err) {
		t.Errorf("the same update again: %v", err)
	}
	if err := m.nm.Stop(t.Context(), it.Node, it.ID); err != nil {
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
