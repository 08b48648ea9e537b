package config

import (
	"net"
	"net/url"
	"strconv"
)

// HistoryURL is the address of the history server's page; "" if the options name none. It is made as Flink's
// HistoryServerUtils makes it.
func HistoryURL(c Config) string {
	host := c.String(HistoryAddress)
	if host == "" {
		return ""
	}
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(c.Int(HistoryPort)))}
	if c.Bool(HistorySSL) {
		at.Scheme = "https"
	}
	return at.String()
}
