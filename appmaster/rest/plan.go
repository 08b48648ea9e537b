package rest

import (
	"net/http"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// JobPlan is the plan of a job as Flink's JsonPlanGenerator writes it
// (JobPlanInfo.RawJson).
type JobPlan struct {
	ID    string     `json:"jid"`
	Name  string     `json:"name"`
	Type  string     `json:"type"`
	Nodes []PlanNode `json:"nodes"`
}

// PlanNode is a vertex of a plan.
type PlanNode struct {
	ID                  string      `json:"id"`
	Parallelism         int         `json:"parallelism"`
	Operator            string      `json:"operator"`
	OperatorStrategy    string      `json:"operator_strategy"`
	Description         string      `json:"description"`
	Inputs              []PlanInput `json:"inputs,omitempty"`
	OptimizerProperties struct{}    `json:"optimizer_properties"`
}

// PlanInput is what a vertex of a plan reads of another.
type PlanInput struct {
	Num          int    `json:"num"`
	ID           string `json:"id"`
	ShipStrategy string `json:"ship_strategy"`
	Exchange     string `json:"exchange"`
}

// PlanOf is the plan of a job that has no id yet.
func PlanOf(g *jobgraph.JobGraph) JobPlan {
	plan := JobPlan{ID: noJob, Name: g.Name, Type: jobType, Nodes: make([]PlanNode, 0, len(g.Vertices))}
	for i, v := range g.Vertices {
		id := jobgraph.VertexID(i)
		var inputs []msg.VertexInput
		for _, edge := range g.Inputs(id) {
			inputs = append(inputs, msg.VertexInput{Vertex: g.PublicID(edge.From), Pattern: edge.Pattern})
		}
		plan.Nodes = append(plan.Nodes, planNodeOf(msg.VertexDetails{ID: g.PublicID(id), Name: v.Name, Parallelism: v.Parallelism, Inputs: inputs}))
	}
	return plan
}

// noJob stands for the id of a job that there is not.
const noJob = "00000000000000000000000000000000"

// planOf is the plan of a job that runs or has run.
func planOf(d msg.JobDetails) JobPlan {
	plan := JobPlan{ID: string(d.ID), Name: d.Name, Type: jobType, Nodes: make([]PlanNode, 0, len(d.Vertices))}
	for _, v := range d.Vertices {
		plan.Nodes = append(plan.Nodes, planNodeOf(v))
	}
	return plan
}

func planNodeOf(v msg.VertexDetails) PlanNode {
	node := PlanNode{ID: v.ID, Parallelism: v.Parallelism, Description: v.Name}
	for i, in := range v.Inputs {
		strategy := "HASH"
		if in.Pattern == jobgraph.Pointwise {
			strategy = "FORWARD"
		}
		node.Inputs = append(node.Inputs, PlanInput{Num: i, ID: in.Vertex, ShipStrategy: strategy, Exchange: "pipelined_bounded"})
	}
	return node
}

func (s *Server) jobPlan(r *http.Request) (any, error) {
	d, err := s.details(r)
	if err != nil {
		return nil, err
	}
	return jobPlanInfo{Plan: planOf(d)}, nil
}
