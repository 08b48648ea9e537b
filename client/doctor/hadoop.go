package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// checkOptions reads Bobbin's options, and checks that the processes fit into their containers.
func (v *visit) checkOptions(context.Context) []Finding {
	c, err := v.Options()
	if err == nil {
		err = config.Validate(c)
	}
	if err != nil {
		return optionFaults(err)
	}
	asked, small := client.ContainersOf(c, launch.Session)
	if small != nil {
		var findings []Finding
		for _, err := range separate(small) {
			findings = append(findings, failed(oneLine(err), "ask for more memory, as the message says"))
		}
		return findings
	}
	v.config, v.containers = c, asked
	names := slices.Sorted(maps.Keys(c.Set()))
	if len(names) == 0 {
		return []Finding{ok("no option is set: the defaults apply")}
	}
	return append([]Finding{ok("set: " + strings.Join(names, ", "))}, v.checkCertificate()...)
}

// checkCertificate checks the site's certificate for REST, if options name one.
func (v *visit) checkCertificate() []Finding {
	site, err := client.SiteCertificate(v.config)
	if fault, is := errors.AsType[*config.Fault](err); is {
		return []Finding{failed(fault.Text(), fault.Remedy)}
	}
	if err != nil {
		return []Finding{failed(oneLine(err), "correct "+config.RESTCertificate.Name()+" and "+config.RESTCertificateKey.Name()+", or leave them out")}
	}
	if site == nil {
		return nil
	}
	findings := []Finding{ok(fmt.Sprintf("the site's certificate is for %s, until %s: browsers get it on nodes with such names", strings.Join(site.Names(), ", "), moment(site.Ends())))}
	if advice := site.Advice(v.Now()); advice != "" {
		findings = []Finding{warning(advice, "get a new one: after its end browsers get the application's own")}
	}
	key := v.config.String(config.RESTCertificateKey)
	if state, err := os.Stat(key); err == nil && state.Mode().Perm()&0o077 != 0 {
		findings = append(findings, warning(fmt.Sprintf("others can read or write the key of the site's certificate: its mode is %#o", state.Mode().Perm()), "chmod 600 "+key))
	}
	return findings
}

// optionFaults returns a finding for each fault of options.
func optionFaults(err error) (findings []Finding) {
	for _, err := range separate(err) {
		f := failed(oneLine(err), "correct the option; docs/OPTIONS.md lists the options")
		if fault, is := errors.AsType[*config.Fault](err); is {
			f = failed(fault.Text(), fault.Remedy)
		}
		findings = append(findings, f)
	}
	return findings
}

// checkHadoop looks for Hadoop's configuration, and checks what every client needs from it.
func (v *visit) checkHadoop(context.Context) []Finding {
	dir, err := hadoopconf.Find(v.Getenv)
	if err != nil {
		const remedy = "set HADOOP_CONF_DIR to the directory that holds core-site.xml and yarn-site.xml"
		variable, value := "HADOOP_CONF_DIR", v.Getenv("HADOOP_CONF_DIR")
		if value == "" {
			variable, value = "YARN_CONF_DIR", v.Getenv("YARN_CONF_DIR")
		}
		if value == "" {
			return []Finding{failed("neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set", remedy)}
		}
		return []Finding{failed(fmt.Sprintf("%s is %s, which is not a readable directory", variable, value), remedy)}
	}
	env, err := v.environment()
	switch _, unparsed := errors.AsType[*hadoopconf.ParseError](err); {
	case unparsed:
		return []Finding{failed(oneLine(err), "correct the file, or fetch it again from the cluster")}
	case errors.Is(err, fs.ErrNotExist):
		return []Finding{failed(oneLine(err), "fetch core-site.xml, hdfs-site.xml and yarn-site.xml from the cluster")}
	case err != nil:
		return []Finding{failed(oneLine(err), "see the message")}
	}
	v.env, v.conf = env, env.Conf
	v.who.User = env.User
	findings := []Finding{ok("properties in " + dir + ": " + v.files())}
	if _, err := yarnrpc.OptionsFrom(v.conf); err != nil {
		findings = append(findings, failed(oneLine(err), "correct the value"))
	}
	return append(findings, v.addresses(), v.security())
}

// files lists the files of the configuration, with their numbers of properties.
func (v *visit) files() string {
	counts := make(map[string]int)
	for _, name := range v.conf.Names() {
		counts[v.conf.SourceOf(name).File]++
	}
	var files []string
	for _, file := range slices.Sorted(maps.Keys(counts)) {
		files = append(files, fmt.Sprintf("%s (%d)", filepath.Base(file), counts[file]))
	}
	return strings.Join(files, ", ")
}

// addresses tells where the ResourceManagers are.
func (v *visit) addresses() Finding {
	rms, err := v.conf.ResourceManagers()
	if err != nil {
		return failed(oneLine(err), "correct yarn-site.xml, or fetch it again from the cluster")
	}
	v.rms = rms
	var addresses, unset []string
	for _, rm := range rms {
		addresses = append(addresses, rm.Client)
		if property := v.addressProperty(rm); v.conf.SourceOf(property) == (hadoopconf.Source{}) {
			unset = append(unset, property)
		}
	}
	text := "YARN is at " + strings.Join(addresses, " and ") + "; the default file system is " + v.conf.Get("fs.defaultFS")
	if unset != nil {
		return warning(text+", but no file sets the address of YARN: Bobbin looks for it on this machine", "set "+strings.Join(unset, ", ")+" in yarn-site.xml")
	}
	return ok(text)
}

// addressProperty is the name of the property by which clients find a ResourceManager.
func (v *visit) addressProperty(rm hadoopconf.ResourceManager) string {
	suffix := ""
	if rm.ID != "" {
		suffix = "." + rm.ID
	}
	if name := "yarn.resourcemanager.address" + suffix; v.conf.SourceOf(name) != (hadoopconf.Source{}) {
		return name
	}
	return "yarn.resourcemanager.hostname" + suffix
}

// security tells which security the configuration requires, and what that means.
func (v *visit) security() Finding {
	if !v.secure() {
		return ok(fmt.Sprintf("the cluster is open (hadoop.security.authentication is simple): you are user %s, anybody else can also act as this user, and nothing on the network is encrypted", v.env.User))
	}
	return ok("the cluster requires Kerberos, with protection " + v.conf.Get("hadoop.rpc.protection") + " (hadoop.security.authentication, hadoop.rpc.protection)")
}
