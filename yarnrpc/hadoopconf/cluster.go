package hadoopconf

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// Default ports of Hadoop 3.
const (
	nameNodePort       = "8020"
	clientPort         = "8032"
	schedulerPort      = "8030"
	adminPort          = "8033"
	webappPort         = "8088"
	webappHTTPSPort    = "8090"
	httpsOnlyPolicy    = "HTTPS_ONLY"
	kerberosAuthMethod = "kerberos"
)

// DefaultFS returns the URI of the file system for paths without a scheme (fs.defaultFS). The
// URI always has a scheme; the default is "file:///". The form "host:port" of old
// configurations becomes hdfs://host:port.
func (c *Conf) DefaultFS() (string, error) {
	value, _, err := c.Lookup("fs.defaultFS")
	if err != nil {
		return "", err
	}
	switch {
	case value == "" || value == "local":
		return "file:///", nil
	case !strings.Contains(value, ":/"):
		value = "hdfs://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" {
		return "", c.valueError("fs.defaultFS", value, "a URI such as hdfs://namenode:8020")
	}
	return value, nil
}

// NameNodes returns the RPC addresses (host:port) of the NameNodes for the authority of an
// hdfs URI. If dfs.nameservices names the authority, they are those of the nameservice
// (dfs.ha.namenodes.NS, dfs.namenode.rpc-address.NS[.NN]), and logical is true. Otherwise the
// authority itself is the address, with port 8020 as default.
func (c *Conf) NameNodes(authority string) (addresses []string, logical bool, err error) {
	services, err := c.Strings("dfs.nameservices")
	if err != nil {
		return nil, false, err
	}
	for _, service := range services {
		if service == authority {
			addresses, err = c.nameservice(service)
			return addresses, true, err
		}
	}
	if authority == "" {
		return nil, false, fmt.Errorf("find NameNode: the hdfs URI names no host and no nameservice")
	}
	return []string{withPort(authority, nameNodePort)}, false, nil
}

func (c *Conf) nameservice(service string) ([]string, error) {
	ids, err := c.Strings("dfs.ha.namenodes." + service)
	if err != nil {
		return nil, err
	}
	suffixes := []string{"." + service}
	if len(ids) > 0 {
		suffixes = nil
		for _, id := range ids {
			suffixes = append(suffixes, "."+service+"."+id)
		}
	}
	var addresses []string
	for _, suffix := range suffixes {
		name := "dfs.namenode.rpc-address" + suffix
		value, err := c.required(name, "find NameNodes of "+service)
		if err != nil {
			return nil, err
		}
		address, err := c.withPort(name, value, nameNodePort)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// ResourceManager holds the addresses of one YARN ResourceManager.
type ResourceManager struct {
	ID        string // "rm1"; "" without high availability
	Client    string // host:port of ApplicationClientProtocol, port 8032
	Scheduler string // host:port of ApplicationMasterProtocol, port 8030
	Admin     string // host:port of the administration protocol, port 8033
	Webapp    string // base URL of web UI and REST, such as http://rm:8088
}

// ResourceManagers lists YARN's ResourceManagers: one, or with
// yarn.resourcemanager.ha.enabled those of yarn.resourcemanager.ha.rm-ids, in that order. If
// an address is not set, it is yarn.resourcemanager.hostname with Hadoop's port. The default
// host name is 0.0.0.0, which is this machine.
func (c *Conf) ResourceManagers() ([]ResourceManager, error) {
	ha, err := c.Bool("yarn.resourcemanager.ha.enabled")
	if err != nil {
		return nil, err
	}
	if !ha {
		rm, err := c.resourceManager("")
		if err != nil {
			return nil, err
		}
		return []ResourceManager{rm}, nil
	}
	ids, err := c.Strings("yarn.resourcemanager.ha.rm-ids")
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("find ResourceManagers: yarn.resourcemanager.ha.enabled is true (%s) but yarn.resourcemanager.ha.rm-ids is not set",
			c.SourceOf("yarn.resourcemanager.ha.enabled"))
	}
	var rms []ResourceManager
	for _, id := range ids {
		rm, err := c.resourceManager(id)
		if err != nil {
			return nil, err
		}
		rms = append(rms, rm)
	}
	return rms, nil
}

func (c *Conf) resourceManager(id string) (ResourceManager, error) {
	suffix := ""
	if id != "" {
		suffix = "." + id
	}
	address := func(name, port string) (string, error) {
		name = "yarn.resourcemanager." + name + suffix
		value, _, err := c.Lookup(name)
		if err == nil && value == "" {
			hostname := "yarn.resourcemanager.hostname" + suffix
			value, err = c.required(hostname, "find ResourceManager "+id+": "+name+" is not set, and")
			name = hostname
		}
		if err != nil {
			return "", err
		}
		return c.withPort(name, value, port)
	}

	webapp, webPort, scheme := "webapp.address", webappPort, "http://"
	if c.Get("yarn.http.policy") == httpsOnlyPolicy {
		webapp, webPort, scheme = "webapp.https.address", webappHTTPSPort, "https://"
	}
	rm := ResourceManager{ID: id}
	for _, field := range []struct {
		to         *string
		name, port string
	}{
		{&rm.Client, "address", clientPort},
		{&rm.Scheduler, "scheduler.address", schedulerPort},
		{&rm.Admin, "admin.address", adminPort},
		{&rm.Webapp, webapp, webPort},
	} {
		var err error
		if *field.to, err = address(field.name, field.port); err != nil {
			return ResourceManager{}, err
		}
	}
	rm.Webapp = scheme + rm.Webapp
	return rm, nil
}

// SecurityEnabled reports whether the cluster wants Kerberos (hadoop.security.authentication
// = kerberos; simple by default).
func (c *Conf) SecurityEnabled() bool {
	return strings.EqualFold(c.Get("hadoop.security.authentication"), kerberosAuthMethod)
}

// TokenRenewInterval returns the time for which a NameNode's token is valid unless its
// renewer renews it (dfs.namenode.delegation.token.renew-interval, in ms; a day by default).
func (c *Conf) TokenRenewInterval() (time.Duration, error) {
	return c.Duration("dfs.namenode.delegation.token.renew-interval", time.Millisecond)
}

func (c *Conf) required(name, purpose string) (string, error) {
	value, _, err := c.Lookup(name)
	if err == nil && value == "" {
		err = fmt.Errorf("%s %s is not set: add it to the Hadoop configuration", purpose, name)
	}
	return value, err
}

// withPort adds the port to a property's address that has none.
func (c *Conf) withPort(name, value, port string) (string, error) {
	address := withPort(value, port)
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", c.valueError(name, value, "an address such as host:"+port)
	}
	return address, nil
}

// withPort adds the port to an address that has none.
func withPort(address, port string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}
