package restapi

// Values of FlameGraph.End that are no times, as Flink has them.
const (
	FlamesWaiting    = -1 // the first graph is being made: ask again
	FlamesDisabled   = -2 // rest.flamegraph.enabled is false
	FlamesTerminated = -3 // no task of the vertex runs
)

// FlameGraph is the answer to GET …/flamegraph; Flink's VertexFlameGraph.
type FlameGraph struct {
	End  int64      `json:"endTimestamp"` // of the sampling, in ms since 1970, or one of the constants above
	Data *FlameNode `json:"data,omitempty"`
	// Unit is that of the values: samples, ms or bytes.
	Unit string `json:"unit,omitempty"`
	// Workers run tasks of the vertex. If there are many, only some are Sampled. Those that have not answered are not.
	Workers int `json:"workers,omitempty"`
	Sampled int `json:"sampled,omitempty"`
}

// FlameNode is a function with all that it calls; Flink's VertexFlameGraph.Node.
type FlameNode struct {
	Name     string      `json:"name"`
	Value    int64       `json:"value"`
	Children []FlameNode `json:"children"`
}
