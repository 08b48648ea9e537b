package rest

import "net/http"

// Blocklist is the answer to GET /blocklist: the nodes that jobs have set aside, by name.
type Blocklist struct {
	Nodes []BlockedNode `json:"nodes"`
}

// BlockedNode is a node from which some job takes no slots.
type BlockedNode struct {
	Node  string `json:"node"`
	Cause string `json:"cause"`
	Until int64  `json:"until"` // ms since 1970
}

// blocklist answers GET /blocklist.
func (s *Server) blocklist(r *http.Request) (any, error) {
	nodes, err := s.gateway.Blocklist(r.Context())
	if err != nil {
		return nil, err
	}
	answer := Blocklist{Nodes: make([]BlockedNode, len(nodes))}
	for i, n := range nodes {
		answer.Nodes[i] = BlockedNode{n.Node, n.Cause, millis(n.Until)}
	}
	return answer, nil
}
