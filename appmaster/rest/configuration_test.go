package rest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// TestTheConfigurationIsTheEffectiveOne would catch a page without the defaults that are in force, and a
// page that shows a secret, or does not show how the ApplicationMaster divides its memory.
func TestTheConfigurationIsTheEffectiveOne(t *testing.T) {
	t.Parallel()
	answer := ask(&fakeGateway{}, http.MethodGet, "/jobmanager/config")
	var entries []restapi.ConfigEntry
	if err := json.Unmarshal(answer.Body.Bytes(), &entries); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for i, e := range entries {
		if i > 0 && e.Key <= entries[i-1].Key {
			t.Errorf("%s stands behind %s", e.Key, entries[i-1].Key)
		}
		got[e.Key] = e.Value
	}
	for name, want := range map[string]string{
		config.TaskSlots.Name(): "2", string(config.ContainerMasterEnv) + "S3_KEY": config.Hidden, config.HeartbeatTimeout.Name(): "50 s",
		// the parts of the container, which no option sets
		config.JobManagerHeapSize.Name(): "256m", config.JobManagerOffHeapSize.Name(): "156m",
		config.JobManagerOverheadMin.Name(): "100m", config.JobManagerOverheadMax.Name(): "100m", config.JobManagerProcessSize.Name(): "512m",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if len(got) < 50 {
		t.Errorf("%d options are shown", len(got))
	}
}
