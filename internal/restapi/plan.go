package restapi

import (
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// JobPlanInfo is the answer to GET /jobs/{job}/plan and /programs/{program}/plan; Flink's
// class of that name.
type JobPlanInfo struct {
	Plan JobPlan `json:"plan"`
}

// JobPlan is the plan of a job as Flink's JsonPlanGenerator writes it
// (JobPlanInfo.RawJson).
type JobPlan struct {
	ID    ids.JobID  `json:"jid"`
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
	// SlotSharingGroup is the name of the vertex's slot sharing group, unless it is the default
	// group.
	SlotSharingGroup string `json:"slotSharingGroup,omitempty"`
}

// PlanInput is an input of a vertex of a plan.
type PlanInput struct {
	Num          int    `json:"num"`
	ID           string `json:"id"`
	ShipStrategy string `json:"ship_strategy"`
	Exchange     string `json:"exchange"`
}

// noJob is the id in the plan of a job that has no id yet.
const noJob ids.JobID = "00000000000000000000000000000000"

// PlanOf returns the plan of a job that has no id yet.
func PlanOf(g *jobgraph.JobGraph) JobPlan {
	details := msg.JobDetails{Vertices: make([]msg.VertexDetails, len(g.Vertices))}
	details.ID, details.Name = noJob, g.Name
	groups := g.SlotGroups()
	for i, v := range g.Vertices {
		id := jobgraph.VertexID(i)
		vertex := msg.VertexDetails{ID: g.PublicID(id), Name: v.Name, Parallelism: v.Parallelism, Group: groups[v.Group].Name}
		for _, edge := range g.Inputs(id) {
			vertex.Inputs = append(vertex.Inputs, msg.VertexInput{Vertex: g.PublicID(edge.From), Pattern: edge.Pattern})
		}
		details.Vertices[i] = vertex
	}
	return PlanOfJob(details)
}

// PlanOfJob returns the plan of a job that runs or has run.
func PlanOfJob(d msg.JobDetails) JobPlan {
	plan := JobPlan{ID: d.ID, Name: d.Name, Type: JobTypeBatch, Nodes: make([]PlanNode, 0, len(d.Vertices))}
	for _, v := range d.Vertices {
		node := PlanNode{ID: v.ID, Parallelism: v.Parallelism, Description: v.Name}
		if v.Group != jobgraph.DefaultGroup {
			node.SlotSharingGroup = v.Group
		}
		for i, in := range v.Inputs {
			strategy := "HASH"
			if in.Pattern == jobgraph.Pointwise {
				strategy = "FORWARD"
			}
			node.Inputs = append(node.Inputs, PlanInput{Num: i, ID: in.Vertex, ShipStrategy: strategy, Exchange: "pipelined_bounded"})
		}
		plan.Nodes = append(plan.Nodes, node)
	}
	return plan
}
