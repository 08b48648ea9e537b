package doctor

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// visit is a running examination: the results of finished checks that other checks need. A field is set once
// its check has not failed.
type visit struct {
	Patient
	config     config.Config     // by options
	containers client.Containers // by options
	env        hadoopenv.Environment
	conf       *hadoopconf.Conf             // the configuration of env
	rms        []hadoopconf.ResourceManager // by hadoop
	krb5       *kerberos.Config             // nil on an open cluster
	who        hadoopenv.Identity           // by credentials; until then only User, from the environment
	active     string                       // by resourcemanager: the address of the active one
}

// patience is how long a server may take for its answer, login included. A user of the doctor does not want to
// wait for client.timeout at each server.
func (v *visit) patience() time.Duration { return v.config.Duration(config.ClientTimeout) / 3 }

func (v *visit) secure() bool { return v.conf.SecurityEnabled() }

// openCluster is the finding of checks about Kerberos on an open cluster.
func openCluster() []Finding { return skipped("the cluster is open") }

// environment reads the environment of the patient.
func (v *visit) environment() (hadoopenv.Environment, error) {
	return hadoopenv.Read(v.Getenv, v.config)
}

// rpc returns options for a connection in the name of the user. opened gets what client and server agreed on.
func (v *visit) rpc(protocol string, opened *yarnrpc.Security) (yarnrpc.Options, error) {
	o, err := yarnrpc.OptionsFrom(v.conf)
	if err != nil {
		return o, err
	}
	o.Protocol = protocol
	o.Server = yarnrpc.ServerFrom(v.conf, protocol)
	v.prepare(&o, opened)
	return o, nil
}

// prepare sets the user and the time limits of a connection.
func (v *visit) prepare(o *yarnrpc.Options, opened *yarnrpc.Security) {
	v.who.Show(&o.Auth)
	o.Opened = func(_ string, s yarnrpc.Security) { *opened = s }
	o.ConnectTimeout, o.RPCTimeout = v.patience(), v.patience()
}

// credentials are the tokens that another launcher passed in.
func (v *visit) credentials() *creds.Credentials { return v.who.Credentials }

// fileSystem reaches HDFS as a submission does.
func (v *visit) fileSystem() *dfs.FS {
	return dfs.New(dfs.Options{
		Conf: v.conf, User: v.who.User, RealUser: v.who.RealUser, Login: v.who.Kerberos(),
		Credentials: v.credentials, Patience: v.patience(),
	})
}

// together calls f for 0 to n-1 in parallel, and waits for all calls.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// place says where a property was set, without the directory, which an earlier finding has named.
func (v *visit) place(property string) string {
	source := v.conf.SourceOf(property)
	if source == (hadoopconf.Source{}) {
		return property + ", which no file sets"
	}
	source.File = filepath.Base(source.File)
	return property + ", " + source.String()
}

// protection is Hadoop's word for a quality of protection.
func protection(q sasl.QOP) string {
	switch q {
	case sasl.QOPIntegrity:
		return "integrity"
	case sasl.QOPPrivacy:
		return "privacy"
	default:
		return "authentication, which protects only the login"
	}
}

// oneLine is an error's text in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// rounded is a duration for people.
func rounded(d time.Duration) string {
	switch d = d.Abs(); {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case d >= time.Second:
		return d.Round(time.Second).String()
	default:
		return "less than a second"
	}
}

// moment is a time for findings.
func moment(t time.Time) string { return t.Local().Format(time.DateTime) }
