package rest

import (
	"fmt"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// environment answers GET /jobmanager/environment. Go's runtime takes the place of the JVM.
func (s *Server) environment(r *http.Request) (any, error) {
	if err := identified(r); err != nil {
		return nil, err
	}
	return environmentOfProcess(s.config.Container), nil
}

// environmentOfProcess describes this process. container may be nil.
func environmentOfProcess(container *restapi.MasterContainer) restapi.EnvironmentInfo {
	runs := []string{fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0))}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		runs = append(runs, fmt.Sprintf("GOMEMLIMIT=%d", limit))
	}
	return restapi.EnvironmentInfo{
		JVM:       restapi.JVMInfo{Version: runtime.Version(), Arch: runtime.GOOS + "/" + runtime.GOARCH, Options: runs},
		Classpath: []string{}, Container: container,
	}
}

// requirements answers GET /jobs/{job}/resource-requirements. A job's parallelism is the planned one.
func (s *Server) requirements(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	answer := make(map[string]restapi.VertexRequirements, len(d.Vertices))
	for _, v := range d.Vertices {
		answer[v.ID] = restapi.VertexRequirements{Parallelism: restapi.ParallelismBounds{Lower: v.Parallelism, Upper: v.Parallelism}}
	}
	return answer, nil
}

// newRequirements answers PUT /jobs/{job}/resource-requirements.
func (s *Server) newRequirements(r *http.Request) (any, error) {
	if _, err := s.details(r); err != nil {
		return nil, err
	}
	return nil, notYet("the parallelism of a running job cannot be changed yet: cancel the job, and run it with another parallelism")
}
