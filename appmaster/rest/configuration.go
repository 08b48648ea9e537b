package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// clusterConfig answers GET /jobmanager/config with the options in force, defaults among them. As in Flink
// (JobManagerProcessUtils#generateDynamicConfigsStr), the options of the ApplicationMaster's memory have the sizes
// that follow from all of them.
func (s *Server) clusterConfig(r *http.Request) (any, error) {
	if err := identified(r); err != nil {
		return nil, err
	}
	return clusterConfigOf(s.config.Options, s.config.Memory), nil
}

func clusterConfigOf(options config.Config, sizes memory.Master) []restapi.ConfigEntry {
	values := config.Shown(options.Effective())
	maps.Copy(values, sizes.Options())
	entries := make([]restapi.ConfigEntry, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, restapi.ConfigEntry{Key: name, Value: values[name]})
	}
	return entries
}

// jobConfig answers GET /jobs/{job}/config.
func (s *Server) jobConfig(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return jobConfigOf(d, s.config.Options), nil
}

// jobConfigOf describes the options of a job of a cluster with these options.
func jobConfigOf(d msg.JobDetails, options config.Config) restapi.JobConfigInfo {
	strategy := options.String(config.RestartStrategy)
	if own, given := d.Config[config.RestartStrategy.Name()]; given {
		strategy = own
	}
	return restapi.JobConfigInfo{ID: d.ID, Name: d.Name, Config: restapi.ExecutionConfig{
		Mode: "PIPELINED", RestartStrategy: strategy, Parallelism: d.Parallelism, ObjectReuse: true, UserConfig: config.Shown(d.Config),
	}}
}

// jobAccumulators answers GET /jobs/{job}/accumulators: the counters of tasks that have
// finished.
func (s *Server) jobAccumulators(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return jobAccumulatorsOf(d), nil
}

func jobAccumulatorsOf(d msg.JobDetails) restapi.JobAccumulators {
	return restapi.JobAccumulators{Job: []struct{}{}, SerializedUser: map[string]json.RawMessage{}, UserTask: accumulatorsOf(d.Counters)}
}

// accumulatorsOf returns counters in the order of their names.
func accumulatorsOf(counters map[string]int64) []restapi.UserAccumulator {
	all := make([]restapi.UserAccumulator, 0, len(counters))
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		all = append(all, restapi.UserAccumulator{Name: name, Type: "LongCounter", Value: strconv.FormatInt(counters[name], 10)})
	}
	return all
}

// dataSets answers GET /datasets. No job keeps data beyond its end.
func (s *Server) dataSets(*http.Request) (any, error) {
	return restapi.DataSets{DataSets: []struct{}{}}, nil
}
