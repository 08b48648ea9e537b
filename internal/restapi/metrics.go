package restapi

// Metric is one metric in an answer that is a list: of one thing, such as the master; Flink's class of
// that name.
type Metric struct {
	ID    string `json:"id"`
	Value string `json:"value,omitempty"` // only of metrics that the request names
}

// ScrapeTarget is a task manager that shows its metrics to Prometheus itself, in the answer to GET /metrics/targets,
// which is a list: the form of Prometheus' http_sd_configs.
type ScrapeTarget struct {
	Targets []string          `json:"targets"` // one: host:port
	Labels  map[string]string `json:"labels"`
}

// AggregatedMetric is one metric of several things, such as all task managers, in an answer that is a
// list; Flink's class of that name. Only metrics that the request names have numbers.
type AggregatedMetric struct {
	ID   string   `json:"id"`
	Min  *float64 `json:"min,omitempty"`
	Max  *float64 `json:"max,omitempty"`
	Avg  *float64 `json:"avg,omitempty"`
	Sum  *float64 `json:"sum,omitempty"`
	Skew *float64 `json:"skew,omitempty"` // in percent
}
