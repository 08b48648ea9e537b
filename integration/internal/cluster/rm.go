package cluster

import (
	"context"
	"errors"
	"net"
	"strings"
)

// RM calls the ResourceManager's REST API (/ws/v1/cluster), with which tests see the state of YARN itself.
type RM struct {
	http  webClient
	bases []string
}

// RM returns the ResourceManager's REST API. If there are two, it is the active one's.
func (c *Cluster) RM() RM { return c.rmOf(c.spec.resourceManagers()...) }

func (c *Cluster) rmOf(daemons ...daemon) RM {
	r := RM{http: c.web()}
	for _, d := range daemons {
		r.bases = append(r.bases, "http://"+d.Web+"/ws/v1/cluster")
	}
	return r
}

// RMInfo is the ResourceManager's own state.
type RMInfo struct {
	State         string `json:"state"`   // STARTED when it accepts calls
	HAState       string `json:"haState"` // ACTIVE, STANDBY; without high availability always ACTIVE
	HadoopVersion string `json:"hadoopVersion"`
}

// RMMetrics are the cluster's totals.
type RMMetrics struct {
	ActiveNodes         int `json:"activeNodes"`
	LostNodes           int `json:"lostNodes"`
	ContainersAllocated int `json:"containersAllocated"`
	ContainersPending   int `json:"containersPending"`
	AppsRunning         int `json:"appsRunning"`
	AppsPending         int `json:"appsPending"`
	AvailableMB         int `json:"availableMB"`
	TotalMB             int `json:"totalMB"`
	TotalVCores         int `json:"totalVirtualCores"`
}

// RMNode is a NodeManager as the ResourceManager knows it.
type RMNode struct {
	ID               string `json:"id"` // host:port
	Host             string `json:"nodeHostName"`
	State            string `json:"state"`
	LastHealthUpdate int64  `json:"lastHealthUpdate"` // Unix time, ms
	Containers       int    `json:"numContainers"`
	UsedMemoryMB     int    `json:"usedMemoryMB"`
	AvailMemoryMB    int    `json:"availMemoryMB"`
}

// RMApp is an application as the ResourceManager knows it.
type RMApp struct {
	ID                string  `json:"id"`
	Name              string  `json:"name"`
	User              string  `json:"user"`
	Queue             string  `json:"queue"`
	Type              string  `json:"applicationType"`
	Tags              string  `json:"applicationTags"` // separated by commas
	Priority          int     `json:"priority"`
	State             string  `json:"state"`       // NEW … FINISHED, FAILED, KILLED
	FinalStatus       string  `json:"finalStatus"` // UNDEFINED, SUCCEEDED, FAILED, KILLED
	Diagnostics       string  `json:"diagnostics"`
	Progress          float64 `json:"progress"` // per cent
	TrackingURL       string  `json:"trackingUrl"`
	AMHostHTTPAddress string  `json:"amHostHttpAddress"`
	RunningContainers int     `json:"runningContainers"`
	AllocatedMB       int     `json:"allocatedMB"`
	LogAggregation    string  `json:"logAggregationStatus"` // SUCCEEDED when yarn logs can print the logs
	StartedTime       int64   `json:"startedTime"`          // Unix time, ms
	LaunchTime        int64   `json:"launchTime"`
	FinishedTime      int64   `json:"finishedTime"`
}

// Get decodes the answer to GET /ws/v1/cluster/path into v, a pointer. A standby redirects to the active
// ResourceManager, and Get skips a ResourceManager that does not answer.
func (r RM) Get(ctx context.Context, path string, v any) error {
	var errs []error
	for _, base := range r.bases {
		err := r.http.getJSON(ctx, base+"/"+strings.TrimPrefix(path, "/"), v)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Info returns the ResourceManager's own state.
func (r RM) Info(ctx context.Context) (RMInfo, error) {
	var answer struct{ ClusterInfo RMInfo }
	err := r.Get(ctx, "info", &answer)
	return answer.ClusterInfo, err
}

// Metrics returns the cluster's totals.
func (r RM) Metrics(ctx context.Context) (RMMetrics, error) {
	var answer struct{ ClusterMetrics RMMetrics }
	err := r.Get(ctx, "metrics", &answer)
	return answer.ClusterMetrics, err
}

// Nodes returns the NodeManagers in all states.
func (r RM) Nodes(ctx context.Context) ([]RMNode, error) {
	var answer struct {
		Nodes *struct{ Node []RMNode } // null if there are none
	}
	if err := r.Get(ctx, "nodes", &answer); err != nil || answer.Nodes == nil {
		return nil, err
	}
	return answer.Nodes.Node, nil
}

// App returns one application. If YARN does not know the id, the error is a *ErrHTTPStatus with status 404.
func (r RM) App(ctx context.Context, id string) (RMApp, error) {
	var answer struct{ App RMApp }
	err := r.Get(ctx, "apps/"+id, &answer)
	return answer.App, err
}

// Expiry returns the time at which YARN kills an application at the end of its lifetime, as the ResourceManager's web
// page shows it. It is UNLIMITED if there is no lifetime.
func (r RM) Expiry(ctx context.Context, id string) (string, error) {
	var answer struct{ Timeout struct{ ExpiryTime string } }
	err := r.Get(ctx, "apps/"+id+"/timeouts/LIFETIME", &answer)
	return answer.Timeout.ExpiryTime, err
}

// MasterBeats returns the number of allocate calls that the cluster's first ResourceManager has answered.
func (c *Cluster) MasterBeats(ctx context.Context) (int, error) {
	_, port, err := net.SplitHostPort(c.spec.YARN["yarn.resourcemanager.scheduler.address"])
	if err != nil {
		return 0, err
	}
	var answer jmx[struct{ AllocateNumOps int }]
	if err := c.web().getJSON(ctx, jmxURL(c.RMWebAddress(), "Hadoop:service=ResourceManager,name=RpcDetailedActivityForPort"+port), &answer); err != nil {
		return 0, err
	}
	bean, err := answer.bean()
	return bean.AllocateNumOps, err
}

// Apps returns the applications that the ResourceManager remembers.
func (r RM) Apps(ctx context.Context) ([]RMApp, error) {
	var answer struct {
		Apps *struct{ App []RMApp } // null if there are none
	}
	if err := r.Get(ctx, "apps", &answer); err != nil || answer.Apps == nil {
		return nil, err
	}
	return answer.Apps.App, nil
}
