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
	// Notes tell what the planner has chosen for operators of the vertex, and why. Flink has none.
	Notes []string `json:"notes,omitempty"`
}

// The exchanges of an input; Flink's names.
const (
	PipelinedExchange = "pipelined_bounded"
	BlockingExchange  = "blocking"
)

// PlanInput is an input of a vertex of a plan.
type PlanInput struct {
	Num          int    `json:"num"`
	ID           string `json:"id"`
	ShipStrategy string `json:"ship_strategy"`
	Exchange     string `json:"exchange"`
	// Why is the reason for a blocking exchange. Flink has none.
	Why string `json:"why,omitempty"`
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
		vertex := msg.VertexDetails{ID: g.PublicID(id), Name: v.Name, Parallelism: v.Parallelism, Group: groups[v.Group].Name, Notes: v.Notes}
		for _, edge := range g.Inputs(id) {
			vertex.Inputs = append(vertex.Inputs, msg.InputOf(g, edge))
		}
		details.Vertices[i] = vertex
	}
	return PlanOfJob(details)
}

// PlanOfJob returns the plan of a job that runs or has run.
func PlanOfJob(d msg.JobDetails) JobPlan {
	plan := JobPlan{ID: d.ID, Name: d.Name, Type: JobTypeBatch, Nodes: make([]PlanNode, 0, len(d.Vertices))}
	for _, v := range d.Vertices {
		node := PlanNode{ID: v.ID, Parallelism: v.Parallelism, Description: v.Name, Notes: v.Notes}
		if v.Group != jobgraph.DefaultGroup {
			node.SlotSharingGroup = v.Group
		}
		for i, in := range v.Inputs {
			node.Inputs = append(node.Inputs, planInput(i, in))
		}
		plan.Nodes = append(plan.Nodes, node)
	}
	return plan
}

func planInput(number int, in msg.VertexInput) PlanInput {
	input := PlanInput{Num: number, ID: in.Vertex, ShipStrategy: string(in.Ship), Exchange: PipelinedExchange, Why: in.Why}
	switch {
	case in.Ship != "":
	case in.Pattern == jobgraph.Pointwise:
		input.ShipStrategy = string(jobgraph.ShipForward)
	default:
		input.ShipStrategy = string(jobgraph.ShipHash)
	}
	if in.Kind == jobgraph.Blocking {
		input.Exchange = BlockingExchange
	}
	return input
}
