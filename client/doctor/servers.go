package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/haservice"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// once is a policy that tries every address once.
func once() yarnrpc.Policy { return yarnrpc.Policy{MaxWait: 1} }

// answer is what a server answered to a call like those of a submission.
type answer struct {
	name     string // for people: the address, and the id if there is one
	property string // the property with the address
	opened   yarnrpc.Security
	standby  bool
	unasked  bool  // accepts no clients; with only a token the doctor cannot ask whether it is standby
	err      error // nil: it serves, as the active one if there are several
}

// checkResourceManagers calls each ResourceManager.
func (v *visit) checkResourceManagers(ctx context.Context) []Finding {
	answers := make([]answer, len(v.rms))
	together(len(v.rms), func(i int) { answers[i] = v.askResourceManager(ctx, v.rms[i]) })
	for i, a := range answers {
		if a.err == nil {
			v.active = v.rms[i].Client
		}
	}
	return v.judge("ResourceManager", answers, "ask the administrator to run yarn rmadmin -getAllServiceState")
}

func (v *visit) askResourceManager(ctx context.Context, rm hadoopconf.ResourceManager) answer {
	a := answer{name: rm.Client, property: v.addressProperty(rm)}
	if rm.ID != "" {
		a.name = rm.ID + ", " + rm.Client
	}
	yarn, err := v.yarn(rm.Client, &a.opened)
	if err != nil {
		a.err = err
		return a
	}
	defer yarn.Close()
	_, a.err = yarn.ClusterMetrics(ctx)
	if len(v.rms) > 1 && errors.Is(a.err, syscall.ECONNREFUSED) {
		if a.unasked = v.tokensDo(); !a.unasked {
			a.standby = v.isStandby(ctx, rm.Admin)
		}
	}
	return a
}

// yarn makes a client of one ResourceManager.
func (v *visit) yarn(address string, opened *yarnrpc.Security) (*yarnclient.Client, error) {
	o, err := yarnclient.FromConf(v.conf, v.who.User)
	if err != nil {
		return nil, err
	}
	o.RPC.Token = o.TokenSource(v.credentials) // of all addresses
	o.Addresses, o.Policy = []string{address}, once()
	v.prepare(&o.RPC, opened)
	return yarnclient.New(o), nil
}

// isStandby asks at the administrators' port, since a standby does not listen to clients. A ResourceManager
// that refuses this user there is up, and not active.
func (v *visit) isStandby(ctx context.Context, admin string) bool {
	o, err := v.rpc(yarnrpc.ApplicationClientProtocol, new(yarnrpc.Security)) // the same server
	if err != nil {
		return false
	}
	service := haservice.New(admin, o)
	defer service.Close()
	status, err := service.Status(ctx)
	return err == nil && status.State == haservice.Standby || errors.Is(err, yarnrpc.ErrAccessControl)
}

// nameNodes are the NameNodes of the staging area: their authority in URIs, their addresses, and the property
// that names them.
func (v *visit) nameNodes() (authority string, addresses []string, property string, err error) {
	configured := v.config.String(config.YarnStagingDirectory)
	fsys := v.fileSystem() // this call connects to nothing
	defer fsys.Close()
	home, err := client.StagingHome(fsys, v.conf, configured)
	if err != nil {
		return "", nil, "", err
	}
	at, err := url.Parse(home)
	if err != nil {
		return "", nil, "", err
	}
	addresses, logical, err := v.conf.NameNodes(at.Host)
	switch {
	case logical:
		property = "dfs.ha.namenodes." + at.Host
	case configured != "":
		property = config.YarnStagingDirectory.Name()
	default:
		property = "fs.defaultFS"
	}
	return at.Host, addresses, property, err
}

// checkNameNodes calls each NameNode of the staging area.
func (v *visit) checkNameNodes(ctx context.Context) []Finding {
	authority, addresses, property, err := v.nameNodes()
	if refusal, is := errors.AsType[*client.Refusal](err); is {
		return []Finding{failed(refusal.Kind.Error()+": "+refusal.What, refusal.Remedy)}
	}
	if err != nil {
		return []Finding{failed(oneLine(err), "correct fs.defaultFS, dfs.nameservices and what belongs to them, or fetch them again from the cluster")}
	}
	answers := make([]answer, len(addresses))
	together(len(addresses), func(i int) {
		answers[i] = v.askNameNode(ctx, authority, addresses[i])
		answers[i].property = property
	})
	return v.judge("NameNode", answers, "ask the administrator to run hdfs haadmin -getAllServiceState")
}

func (v *visit) askNameNode(ctx context.Context, authority, address string) answer {
	a := answer{name: address}
	o, err := v.rpc(yarnrpc.HDFSClientProtocol, &a.opened)
	if err != nil {
		a.err = err
		return a
	}
	o.Token = hdfs.TokenSource(v.conf, authority, v.credentials)
	proxy := yarnrpc.NewProxy([]string{address}, o, once())
	defer proxy.Close()
	_, a.err = hdfs.NewNameNode(proxy).Defaults(ctx)
	a.standby = errors.Is(a.err, yarnrpc.ErrStandby)
	return a
}

// judge reports what each server answered. A failed or standby server is harmless while another is active. If
// none is, remedy is the remedy.
func (v *visit) judge(what string, answers []answer, remedy string) []Finding {
	active := false
	for _, a := range answers {
		active = active || a.err == nil
	}
	var findings []Finding
	for _, a := range answers {
		name := what + " " + a.name
		switch {
		case a.err == nil && v.secure() && a.opened.Method == methodSimple:
			findings = append(findings, warning(name+" requires no login, but the configuration does", "ask the administrator: the server's hadoop.security.authentication is not kerberos"))
		case a.err == nil:
			findings = append(findings, ok(name+" "+part(answers)+": "+agreed(a.opened)+v.acting()))
			if v.secure() && a.opened.QOP != sasl.QOPPrivacy {
				findings = append(findings, warning("others on the network can read keys and tokens sent to "+name+": the protection is not privacy",
					"ask the administrator to set hadoop.rpc.protection to privacy in core-site.xml of servers and clients"))
			}
		case a.standby && len(answers) == 1: // a NameNode: isStandby asks only a ResourceManager of several
			findings = append(findings, failed(fmt.Sprintf("%s (%s) is standby, and the active one is not named", name, v.place(a.property)),
				"name the nameservice of both, as the cluster's own core-site.xml does"))
		case a.standby:
			findings = append(findings, ok(name+" is standby"))
		case a.unasked && active:
			findings = append(findings, ok(name+" accepts no clients: it is standby, or down"))
		default:
			f := failed(fmt.Sprintf("%s (%s) does not work: %s", name, v.place(a.property), cause(a.err)), v.remedy(a.err))
			if active {
				f.Status = Warning
			}
			findings = append(findings, f)
		}
	}
	if !active && len(answers) > 1 {
		findings = append(findings, failed("no "+what+" is active", remedy))
	}
	return findings
}

func part(answers []answer) string {
	if len(answers) > 1 {
		return "is active"
	}
	return "answers"
}

// methodSimple is the Method in yarnrpc.Security of a server that accepts any user name without proof.
const methodSimple = "SIMPLE"

// agreed says how a connection was opened.
func agreed(s yarnrpc.Security) string {
	switch {
	case s.Method == methodSimple:
		return "no login, no protection"
	case s.Server == "": // the token proves the server, and not the principal
		return "logged in by a token, protection " + protection(s.QOP)
	default:
		return fmt.Sprintf("logged in by Kerberos at %s, protection %s", s.Server, protection(s.QOP))
	}
}

// acting says whether the successful calls were made for another user, and for which.
func (v *visit) acting() string {
	if v.who.RealUser == "" {
		return ""
	}
	return fmt.Sprintf("; %s may act for %s", v.who.RealUser, v.who.User)
}
