package exchange

import "net"

// MaxPerChannel bounds the buffers of one end of a channel.
const MaxPerChannel = maxPerChannel

// Behind makes an exchange accept connections through a wrapper of its listener.
func Behind(over func(net.Listener) net.Listener) func(*Config) {
	return func(c *Config) { c.behind = over }
}
