package records

import (
	"encoding/json"
	"fmt"
)

// ExposedPorts are the ports of a Docker container that its node forwards, as JSON
// of docker inspect. Empty: none.
type ExposedPorts string

// HostPort is the address on the node for a container's port.
type HostPort struct {
	IP   string `json:"HostIp"` // 0.0.0.0: all of the node's
	Port uint16 `json:"HostPort,string"`
}

// Parse returns the node's addresses by port and protocol in the container, such
// as 8080/tcp. A port that is not forwarded has no address. The error is
// ErrMalformed.
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
