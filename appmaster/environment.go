package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// environment is what the process finds in its environment.
type environment struct {
	container   records.ContainerID
	host        string // of the NodeManager, which other nodes reach this process by
	logDir      string
	workDir     string   // of the container; "": that of this process
	variables   []string // what a driver finds in its environment
	launch      launch.AppMaster
	strategy    strategy // of the cluster's mode
	config      config.Config
	hadoop      *hadoopconf.Conf
	credentials *creds.Credentials
	login       *kerberos.Login // nil without a keytab
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
	if env.strategy, err = strategyOf(env.launch); err != nil {
		return env, err
	}
	if env.credentials, err = creds.ReadFile(getenv(launch.TokenFileVariable)); err != nil {
		return env, fmt.Errorf("read credentials of %s: %w", launch.TokenFileVariable, err)
	}
	if env.login, err = logIn(env.launch.Security, getenv); err != nil {
		return env, err
	}
	return env, env.identifyProgram()
}

// identifyProgram looks at an application's program, which runs in this container: at whether it is what the client has
// submitted or, if that has not read it as it was on HDFS, at what it is.
func (env *environment) identifyProgram() error {
	path := filepath.Join(env.workDir, launch.ProgramLink)
	switch {
	case env.launch.Mode != launch.Application:
		return nil
	case env.launch.ProgramRef.SHA256 != "":
		return program.Verify(path, env.launch.ProgramRef.SHA256)
	}
	read, err := program.Inspect(path, program.Native())
	if err != nil {
		return fmt.Errorf("%w, it comes from %s", err, env.launch.ProgramRef.URI)
	}
	env.launch.ProgramRef.SHA256 = read.SHA256
	return nil
}

// logIn makes the login from the keytab that the client has sent, or told of; nil where
// there is none.
func logIn(s launch.Security, getenv func(string) string) (*kerberos.Login, error) {
	if s.Principal == "" {
		return nil, nil
	}
	var conf *kerberos.Config
	var err error
	if s.Krb5Conf != nil {
		conf, err = kerberos.ParseConfig("the client's krb5.conf", s.Krb5Conf)
	} else if conf, err = kerberos.LoadConfig(getenv); err != nil {
		err = fmt.Errorf("%w, on each node, or send the client's (%s)", err, config.Krb5ConfPath)
	}
	if err != nil {
		return nil, err
	}
	login, err := kerberos.FromKeytab(conf, s.Principal, s.Keytab)
	if err != nil && filepath.IsAbs(s.Keytab) { // was not sent
		err = fmt.Errorf("%w; it must lie on each node, for containers to read, or be sent (%s)", err, config.YarnShipLocalKeytab)
	}
	return login, err
}

// handed is how this process reaches HDFS. Where it can log in it does: what tokens it was
// started with may be long dead, as YARN gives each attempt the first one's.
func (env environment) handed(logger logrus.FieldLogger) dfs.Handed {
	h := dfs.Handed{HadoopConf: env.launch.HadoopConf, User: env.launch.User, Logger: logger}
	if env.login != nil {
		h.Login = env.login
	} else {
		h.Credentials = func() *creds.Credentials { return env.credentials }
	}
	return h
}

// maxStaged bounds what the client has staged, in bytes: a job's splits are most of
// it.
const maxStaged = 256 << 20

// staged is what the client has staged.
type staged struct {
	launch.Staged
	graph jobgraph.JobGraph // of Job, where there is one
}

func readStaged(ctx context.Context, files *dfs.FS, l launch.AppMaster) (staged, error) {
	var s staged
	uri := l.StagingDir + "/" + launch.StagedFile
	content, err := files.ReadFile(ctx, uri, maxStaged)
	if err == nil {
		s, err = decodeStaged(content, l.Mode)
	}
	if err != nil {
		return s, fmt.Errorf("read what is staged in %s: %w", uri, err)
	}
	return s, nil
}

// errNoJob is a cluster for one job for which none was staged.
var errNoJob = errors.New("there is no job")

// decodeStaged reads the content of launch.StagedFile.
func decodeStaged(content []byte, mode launch.Mode) (s staged, err error) {
	err = json.Unmarshal(content, &s.Staged)
	switch {
	case err != nil:
	case s.Job != nil:
		err = json.Unmarshal(s.Job.Graph, &s.graph)
	case mode == launch.PerJob:
		err = errNoJob
	}
	return s, err
}

// nodeReports gives the nodes as the driver takes them.
func (s staged) nodeReports() []records.NodeReport {
	reports := make([]records.NodeReport, len(s.Nodes))
	for i, node := range s.Nodes {
		reports[i] = records.NodeReport{
			ID: records.NodeID{Host: node.Host, Port: node.Port}, Rack: node.Rack, State: records.NodeRunning,
			Capability: records.Resource{MemoryMB: node.MemoryMB, VCores: node.VCores, Others: records.NewResourceValues(node.Others)},
			Labels:     node.Labels,
		}
	}
	return reports
}

// hardlyFits says of a job that the nodes which run have too little memory for it, or "". The
// client has submitted a program, and did not know its jobs.
func (s staged) hardlyFits(c config.Config, graph *jobgraph.JobGraph) string {
	if len(s.Nodes) == 0 { // they are not known
		return ""
	}
	var have int64
	for _, node := range s.Nodes {
		have += node.MemoryMB
	}
	return launch.DemandOf(c, graph.Slots()).TooLarge(have)
}

// proxies are the addresses from which YARN's web proxy may ask REST: of
// yarn.web-proxy.address, else of all ResourceManagers' web servers
// (AmFilterInitializer). One that cannot be found is refused by REST, and the
// application runs without it. own is the node's name.
func proxies(ctx context.Context, conf *hadoopconf.Conf, own string, logger logrus.FieldLogger) []netip.Addr {
	const unknown = "yarn's web proxy is not found, and will be refused"
	hosts, err := proxyHosts(conf)
	if err != nil {
		logger.WithError(err).Warn(unknown)
		return nil
	}
	var addresses []netip.Addr
	for _, host := range hosts {
		found, err := resolve(ctx, host, own)
		if err != nil {
			logger.WithError(err).WithField("host", host).Warn(unknown)
		}
		for _, address := range found {
			if !slices.Contains(addresses, address) {
				addresses = append(addresses, address)
			}
		}
	}
	return addresses
}

func proxyHosts(conf *hadoopconf.Conf) ([]string, error) {
	if address := conf.Get("yarn.web-proxy.address"); address != "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil { // Hadoop does not insist on the port
			host = address
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

// resolve finds the addresses of a host. The wildcard address, Hadoop's default
// for a ResourceManager, stands for this node (NetUtils#getConnectAddress).
func resolve(ctx context.Context, host, own string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var addresses []netip.Addr
	for _, address := range found {
		if address = address.Unmap(); !address.IsUnspecified() {
			addresses = append(addresses, address)
			continue
		}
		addresses = append(addresses, netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback())
		if host != own {
			local, err := resolve(ctx, own, own)
			if err != nil {
				return nil, err
			}
			addresses = append(addresses, local...)
		}
	}
	return addresses, nil
}
