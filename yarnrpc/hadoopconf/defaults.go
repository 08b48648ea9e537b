package hadoopconf

// builtin returns defaults from Hadoop's core-default.xml, hdfs-default.xml and
// yarn-default.xml (3.4.3). It has only the properties that this module reads; others
// have no default.
func builtin(name string) (string, bool) {
	for _, table := range []func(string) string{coreDefault, hdfsDefault, yarnDefault} {
		if value := table(name); value != "" {
			return value, true
		}
	}
	return "", false
}

func coreDefault(name string) string {
	switch name {
	case "fs.defaultFS":
		return "file:///"
	case "fs.permissions.umask-mode":
		return "022"
	case "hadoop.tmp.dir":
		return "/tmp/hadoop-${user.name}"
	case "hadoop.security.authentication":
		return "simple"
	case "hadoop.rpc.protection":
		return "authentication"
	case "hadoop.security.token.service.use_ip":
		return "true"
	case "ipc.client.connect.timeout": // ms
		return "20000"
	case "ipc.client.connect.max.retries":
		return "10"
	case "ipc.client.connect.max.retries.on.timeouts":
		return "45"
	case "ipc.client.connect.max.retries.on.sasl":
		return "5"
	case "ipc.client.connect.retry.interval": // ms
		return "1000"
	case "ipc.client.connection.maxidletime": // ms
		return "10000"
	case "ipc.client.ping":
		return "true"
	case "ipc.ping.interval": // ms
		return "60000"
	case "ipc.client.rpc-timeout.ms":
		return "120000"
	case "ipc.maximum.response.length": // bytes
		return "134217728"
	case "ipc.client.fallback-to-simple-auth-allowed":
		return "false"
	default:
		return ""
	}
}

func hdfsDefault(name string) string {
	switch name {
	case "dfs.replication":
		return "3"
	case "dfs.blocksize": // bytes
		return "134217728"
	case "dfs.namenode.delegation.token.renew-interval": // ms
		return "86400000"
	case "dfs.client.failover.max.attempts":
		return "15"
	case "dfs.client.failover.sleep.base.millis":
		return "500"
	case "dfs.client.failover.sleep.max.millis":
		return "15000"
	case "dfs.client.failover.random.order":
		return "true"
	case "dfs.client.use.datanode.hostname":
		return "false"
	case "dfs.client.socket-timeout": // ms
		return "60000"
	default:
		return ""
	}
}

func yarnDefault(name string) string {
	switch name {
	case "yarn.resourcemanager.hostname":
		return "0.0.0.0"
	case "yarn.resourcemanager.ha.enabled":
		return "false"
	case "yarn.resourcemanager.connect.max-wait.ms":
		return "900000"
	case "yarn.resourcemanager.connect.retry-interval.ms":
		return "30000"
	case "yarn.http.policy":
		return "HTTP_ONLY"
	case "yarn.client.application-client-protocol.poll-interval-ms":
		return "200"
	case "yarn.rpc.nm-command-timeout": // ms
		return "60000"
	case "yarn.client.nodemanager-connect.max-wait-ms":
		return "180000"
	case "yarn.client.nodemanager-connect.retry-interval-ms":
		return "10000"
	case "yarn.nodemanager.remote-app-log-dir":
		return "/tmp/logs"
	case "yarn.nodemanager.remote-app-log-dir-suffix":
		return "logs"
	default:
		return ""
	}
}

// canonicalName maps a deprecated property name to its successor (the deprecations of
// Hadoop's Configuration, HdfsConfiguration and YarnConfiguration). It knows the names
// that old client configurations are likely to hold.
func canonicalName(name string) string {
	switch name {
	case "fs.default.name":
		return "fs.defaultFS"
	case "dfs.umaskmode":
		return "fs.permissions.umask-mode"
	case "dfs.federation.nameservices":
		return "dfs.nameservices"
	case "dfs.federation.nameservice.id":
		return "dfs.nameservice.id"
	case "dfs.block.size":
		return "dfs.blocksize"
	case "dfs.http.address":
		return "dfs.namenode.http-address"
	case "dfs.https.address":
		return "dfs.namenode.https-address"
	case "dfs.socket.timeout":
		return "dfs.client.socket-timeout"
	case "yarn.client.app-submission.poll-interval":
		return "yarn.client.application-client-protocol.poll-interval-ms"
	case "yarn.resourcemanager.zk-address":
		return "hadoop.zk.address"
	default:
		return name
	}
}
