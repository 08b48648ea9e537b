package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// environment is what the process finds in its environment.
type environment struct {
	container   records.ContainerID
	host        string // of the NodeManager, which other nodes reach this process by
	logDir      string
	launch      launch.AppMaster
	config      config.Config
	hadoop      *hadoopconf.Conf
	credentials *creds.Credentials
}

func readEnvironment(getenv func(string) string) (environment, error) {
	env := environment{host: getenv("NM_HOST")}
	env.logDir, _, _ = strings.Cut(getenv("LOG_DIRS"), ",")
	if env.host == "" || env.logDir == "" {
		return env, errors.New("NM_HOST or LOG_DIRS is not set; this process is started by YARN, not by hand")
	}
	var err error
	if env.container, err = records.ParseContainerID(getenv("CONTAINER_ID")); err != nil {
		return env, fmt.Errorf("CONTAINER_ID: %w", err)
	}
	if env.launch, err = launch.Decode[launch.AppMaster](getenv(launch.Variable)); err != nil {
		return env, err
	}
	if env.config, err = config.New(config.Layer{Source: "launch context", Values: env.launch.Config}); err != nil {
		return env, err
	}
	if env.hadoop, err = hadoopconf.Parse(env.launch.HadoopConf); err != nil {
		return env, err
	}
	env.credentials, err = creds.ReadFile(getenv(launch.TokenFileVariable))
	return env, err
}

// maxJob bounds the staged job, in bytes: its splits are most of it.
const maxJob = 256 << 20

// stagedJob is the job that the client has staged.
type stagedJob struct {
	launch.Job
	graph jobgraph.JobGraph
}

func readJob(ctx context.Context, files filesystem.FileSystem, dir string) (stagedJob, error) {
	var job stagedJob
	file, err := files.Open(ctx, dir+"/"+launch.JobFile)
	if err != nil {
		return job, fmt.Errorf("read staged job: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxJob))
	if err = errors.Join(err, file.Close()); err != nil {
		return job, fmt.Errorf("read staged job: %w", err)
	}
	if err := json.Unmarshal(content, &job.Job); err != nil {
		return job, fmt.Errorf("read staged job: %w", err)
	}
	if err := json.Unmarshal(job.Graph, &job.graph); err != nil {
		return job, fmt.Errorf("read staged job: %w", err)
	}
	return job, nil
}

// nodeReports gives the nodes as the driver takes them.
func (j stagedJob) nodeReports() []records.NodeReport {
	reports := make([]records.NodeReport, len(j.Nodes))
	for i, node := range j.Nodes {
		reports[i] = records.NodeReport{
			ID: records.NodeID{Host: node.Host, Port: node.Port}, Rack: node.Rack, State: records.NodeRunning,
			Capability: records.Resource{MemoryMB: node.MemoryMB, VCores: node.VCores},
		}
	}
	return reports
}

// proxies are the addresses from which YARN's web proxy may ask REST: of
// yarn.web-proxy.address, else of all ResourceManagers' web servers
// (AmFilterInitializer).
func proxies(ctx context.Context, conf *hadoopconf.Conf) ([]netip.Addr, error) {
	hosts, err := proxyHosts(conf)
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, host := range hosts {
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("find YARN's web proxy: %w", err)
		}
		for _, address := range found {
			addresses = append(addresses, address.Unmap())
		}
	}
	return addresses, nil
}

func proxyHosts(conf *hadoopconf.Conf) ([]string, error) {
	if address := conf.Get("yarn.web-proxy.address"); address != "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("yarn.web-proxy.address: %w", err)
		}
		return []string{host}, nil
	}
	rms, err := conf.ResourceManagers()
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, rm := range rms {
		web, err := url.Parse(rm.Webapp)
		if err != nil {
			return nil, fmt.Errorf("address of YARN's web server: %w", err)
		}
		hosts = append(hosts, web.Hostname())
	}
	return hosts, nil
}
