package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// clusterConfig answers GET /jobmanager/config with the options in force, defaults among them. As in Flink
// (JobManagerProcessUtils#generateDynamicConfigsStr), the options of the ApplicationMaster's memory have the sizes
// that follow from all of them.
func (s *Server) clusterConfig(r *http.Request) (any, error) {
	if err := identified(r); err != nil {
		return nil, err
	}
	values := config.Shown(s.config.Options.Effective())
	maps.Copy(values, s.config.Memory.Options())
	entries := make([]restapi.ConfigEntry, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, restapi.ConfigEntry{Key: name, Value: values[name]})
	}
	return entries, nil
}

// jobConfig answers GET /jobs/{job}/config.
func (s *Server) jobConfig(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	strategy := s.config.Options.String(config.RestartStrategy)
	if own, given := d.Config[config.RestartStrategy.Name()]; given {
		strategy = own
	}
	return restapi.JobConfigInfo{ID: d.ID, Name: d.Name, Config: restapi.ExecutionConfig{
		Mode: "PIPELINED", RestartStrategy: strategy, Parallelism: d.Parallelism, ObjectReuse: true, UserConfig: config.Shown(d.Config),
	}}, nil
}

// jobAccumulators answers GET /jobs/{job}/accumulators: the counters of tasks that have
// finished.
func (s *Server) jobAccumulators(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	answer := restapi.JobAccumulators{
		Job: []struct{}{}, SerializedUser: map[string]json.RawMessage{},
		UserTask: make([]restapi.UserAccumulator, 0, len(d.Counters)),
	}
	for _, name := range slices.Sorted(maps.Keys(d.Counters)) {
		answer.UserTask = append(answer.UserTask, restapi.UserAccumulator{Name: name, Type: "LongCounter", Value: strconv.FormatInt(d.Counters[name], 10)})
	}
	return answer, nil
}

// dataSets answers GET /datasets. No job keeps data beyond its end.
func (s *Server) dataSets(*http.Request) (any, error) {
	return restapi.DataSets{DataSets: []struct{}{}}, nil
}
