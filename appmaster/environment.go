package appmaster

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/machine"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/startup"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// environment is the process' input: its environment variables, and the files that they name.
type environment struct {
	container   records.ContainerID
	host        string // of the NodeManager; other nodes reach this process by it
	proxyBase   string // the path of the application below YARN's proxy
	logDir      string
	workDir     string   // of the container; "": the process' working directory
	localDirs   []string // of YARN's local-dirs, for files of the application
	variables   []string // all variables of this process
	launch      launch.AppMaster
	config      config.Config
	hadoop      *hadoopconf.Conf
	credentials *creds.Credentials
	login       *kerberos.Login       // nil without a keytab
	submitted   time.Time             // when YARN got the application; zero: YARN does not tell
	site        *sitecert.Certificate // of the site, for REST; nil: there is none
	nodeManager string                // of this container, host:port; "": YARN does not tell
	logURL      string                // of this container, at its NodeManager; "": YARN does not tell
}

func readEnvironment(getenv func(string) string) (environment, error) {
	env := environment{host: getenv("NM_HOST"), proxyBase: getenv("APPLICATION_WEB_PROXY_BASE")}
	env.logDir, env.localDirs = launch.Dirs(getenv)
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
	if _, err = endsOf(env.launch); err != nil {
		return env, err
	}
	if env.credentials, err = creds.ReadFile(getenv(launch.TokenFileVariable)); err != nil {
		return env, fmt.Errorf("read credentials of %s: %w", launch.TokenFileVariable, err)
	}
	if env.login, err = logIn(env.launch.Security, getenv); err != nil {
		return env, err
	}
	if env.launch.Site {
		if env.site, err = readSite(filepath.Join(env.workDir, launch.SiteFile)); err != nil {
			return env, err
		}
	}
	env.tellYARN(getenv)
	return env, env.identifyProgram()
}

// tellYARN reads what YARN tells of the application (ApplicationConstants.APP_SUBMIT_TIME_ENV) and of its node.
func (env *environment) tellYARN(getenv func(string) string) {
	if ms, err := strconv.ParseInt(getenv("APP_SUBMIT_TIME_ENV"), 10, 64); err == nil && ms > 0 {
		env.submitted = time.UnixMilli(ms)
	}
	if port := getenv("NM_PORT"); port != "" {
		env.nodeManager = net.JoinHostPort(env.host, port)
	}
	if port := getenv("NM_HTTP_PORT"); port != "" {
		page := url.URL{Scheme: webScheme(env.hadoop), Host: net.JoinHostPort(env.host, port)}
		env.logURL = page.JoinPath("node", "containerlogs", env.container.String(), env.launch.User).String()
	}
}

// inYARN is the container for users; nil: YARN does not tell enough.
func (env environment) inYARN() *restapi.MasterContainer {
	if env.nodeManager == "" {
		return nil
	}
	return &restapi.MasterContainer{ID: env.container.String(), Node: env.nodeManager, User: env.launch.User}
}

// resourceManager is YARN's address for clients; "": the configuration names none.
func (env environment) resourceManager() string {
	rms, err := env.hadoop.ResourceManagers()
	if err != nil || len(rms) == 0 {
		return ""
	}
	return rms[0].Client
}

// describe is what the first lines of the log say.
func (env environment) describe() startup.Process {
	work, err := filepath.Abs(env.workDir)
	if err != nil {
		work = env.workDir
	}
	p := startup.Process{
		Role: "ApplicationMaster", Identity: env.identity(),
		Application: env.container.Attempt.Application.String(), Attempt: int(env.container.Attempt.Attempt), Container: env.container.String(), Node: env.host,
		WorkDir: work, LogDir: env.logDir, LocalDirs: env.localDirs,
		Machine: machine.Read(), Options: env.launch.Config,
	}
	master, ofMaster := env.memory()
	worker, ofWorker := memory.WorkerOf(env.config)
	if ofMaster != nil || ofWorker != nil { // an error is that of build, which follows
		return p
	}
	p.Memory = startup.Containers(master, worker)
	p.ContainerMB, p.VCores = master.ContainerMB(), env.config.Int(config.YarnAppMasterVCores)
	if env.launch.Uber {
		p.ContainerMB, p.VCores = p.ContainerMB+worker.ContainerMB(), max(p.VCores, config.WorkerVCores(env.config))
	}
	return p
}

// identity is the user of this process on the cluster.
func (env environment) identity() startup.Identity {
	who := startup.Identity{User: env.launch.User, Principal: env.launch.Security.Principal, Credentials: startup.Keytab}
	if env.login == nil {
		who.Credentials = startup.TokensIf(env.credentials.ByKind(creds.KindHDFSDelegation) != nil)
	}
	return who
}

// memory is how this process divides its memory, without that of a worker in the same container.
func (env environment) memory() (memory.Master, error) {
	return memory.MasterOf(env.config, env.launch.Mode.Programs())
}

// identifyProgram verifies that an application's program, which runs in this container, is the file that
// the client submitted. If the client did not read the program, because it was on HDFS, identifyProgram
// determines its hash.
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
		return fmt.Errorf("%w; the program comes from %s", err, env.launch.ProgramRef.URI)
	}
	env.launch.ProgramRef.SHA256 = read.SHA256
	return nil
}

// logIn makes the login from the keytab that the client has sent, or whose path it has sent. Without a
// keytab it returns nil.
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
	if err != nil && filepath.IsAbs(s.Keytab) { // the client did not send the keytab
		err = fmt.Errorf("%w; the keytab must lie on each node, readable for containers, or the client must send it (%s)", err, config.YarnShipLocalKeytab)
	}
	return login, err
}

// handed returns how this process reaches HDFS. If the process can log in, it does: the tokens that it was
// started with may have ended, because YARN gives each attempt the tokens of the first.
// observe sees each try of a call; it may be nil.
func (env environment) handed(calls *hadoop.Counts, logger logrus.FieldLogger) dfs.Handed {
	h := dfs.Handed{HadoopConf: env.launch.HadoopConf, User: env.launch.User, Observe: calls.Observe, ObserveData: calls.ObserveData, Logger: logger}
	if env.login != nil {
		h.Login = env.login
	} else {
		h.Credentials = func() *creds.Credentials { return env.credentials }
	}
	return h
}
