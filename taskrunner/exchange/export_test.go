package exchange

import "net"

// Behind has an exchange accept connections through what lies over its listener.
func Behind(over func(net.Listener) net.Listener) func(*Config) {
	return func(c *Config) { c.behind = over }
}
