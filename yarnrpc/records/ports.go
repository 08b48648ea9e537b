package records

import (
	"encoding/json"
	"fmt"
)

// ExposedPorts are the ports of a Docker container that its node forwards, in the
// JSON of docker inspect, which Hadoop passes on. Empty: none.
type ExposedPorts string

// HostPort is where a container's port can be reached.
type HostPort struct {
	IP   string `json:"HostIp"` // 0.0.0.0: all of the node's
	Port uint16 `json:"HostPort,string"`
}

// Parse gives the places on the node by port and protocol within the container, as
// in 8080/tcp; none for a port that is not forwarded. The error is ErrMalformed.
func (p ExposedPorts) Parse() (map[string][]HostPort, error) {
	if p == "" {
		return nil, nil
	}
	var ports map[string][]HostPort
	if err := json.Unmarshal([]byte(p), &ports); err != nil {
		return nil, fmt.Errorf("parse exposed ports %q: %w: %w", string(p), ErrMalformed, err)
	}
	return ports, nil
}
