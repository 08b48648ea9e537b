package hadoopconf_test

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// The values of the files, here given by hand, over Hadoop's defaults. Load reads files from the
// directory that Find returns.
func Example() {
	conf := new(hadoopconf.Conf).With("a program", map[string]string{
		"yarn.resourcemanager.ha.enabled":    "true",
		"yarn.resourcemanager.ha.rm-ids":     "rm1,rm2",
		"yarn.resourcemanager.hostname.rm1":  "one.example.com",
		"yarn.resourcemanager.hostname.rm2":  "two.example.com",
		"ipc.client.connect.timeout":         "soon",
		"yarn.client.failover-sleep-base-ms": "2s",
	})
	rms, err := conf.ResourceManagers()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rm := range rms {
		fmt.Println(rm.ID, rm.Client, rm.Scheduler)
	}
	fmt.Println(conf.Duration("yarn.client.failover-sleep-base-ms", time.Millisecond))
	_, err = conf.Duration("ipc.client.connect.timeout", time.Millisecond)
	fmt.Println(err)
	// Output:
	// rm1 one.example.com:8032 one.example.com:8030
	// rm2 two.example.com:8032 two.example.com:8030
	// 2s <nil>
	// a program: property ipc.client.connect.timeout is "soon", want a duration such as 500ms, 30s or 5m
}
