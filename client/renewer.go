package client

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// errNoRenewer says that a secure cluster's configuration does not name the ResourceManager, which must renew
// an application's tokens.
var errNoRenewer = errors.New("yarn.resourcemanager.principal is not set: add it to yarn-site.xml, as on the cluster")

// unnamed adds the remedy to the error of a NameNode that cannot map the name of a renewer. Hadoop has no class
// for this error (AbstractDelegationTokenIdentifier#setRenewer).
func unnamed(err error, renewer string) error {
	if remote, is := errors.AsType[*yarnrpc.RemoteError](err); is && remote.Class == "java.lang.RuntimeException" {
		return fmt.Errorf("%w; %s renews the token (yarn.resourcemanager.principal): the NameNode needs a rule for this name (hadoop.security.auth_to_local)", err, renewer)
	}
	return err
}

// Renewer is the principal of the ResourceManager, which renews the tokens of applications
// (YarnClientUtils.getRmPrincipal). All ResourceManagers of a cluster share a short name, and the NameNode
// compares only this name. The error is errNoRenewer if the configuration does not name the principal.
func Renewer(conf *hadoopconf.Conf) (string, error) {
	const key = "yarn.resourcemanager.principal"
	configured, _, err := conf.Lookup(key)
	if err != nil {
		return "", err
	}
	if configured == "" {
		return "", errNoRenewer
	}
	return kerberos.ServerPrincipal(configured, func() (string, error) {
		rms, err := conf.ResourceManagers()
		if err != nil {
			return "", err
		}
		host, _, err := net.SplitHostPort(rms[0].Client)
		return host, err
	})
}

// rejected explains YARN's rejection of an application. YARN first renews the application's tokens. If that
// fails, YARN gives neither the reason nor a remedy.
func (g *grant) rejected(err error, conf *hadoopconf.Conf) error {
	if _, is := errors.AsType[*yarnclient.RejectedError](err); !is {
		return err
	}
	for _, alias := range slices.Sorted(maps.Keys(g.credentials.Tokens)) {
		if why := WrongRenewer(conf, g.credentials.Tokens[alias]); why != "" {
			err = fmt.Errorf("%w; %s: get a token whose renewer is the ResourceManager", err, why)
		}
	}
	return err
}

// WrongRenewer says why YARN cannot renew a token of HDFS, and so would reject an application with it; "" if
// YARN can, or if that is not known.
func WrongRenewer(conf *hadoopconf.Conf, token *creds.Token) string {
	if token.Kind != creds.KindHDFSDelegation { // YARN renews its own tokens for everyone
		return ""
	}
	about, err := identifier.DecodeDelegation(token)
	if err != nil || about.Renewer == "" {
		return ""
	}
	principal, name, err := resourceManager(conf)
	if err != nil || about.Renewer == name {
		return ""
	}
	return fmt.Sprintf("the token for %s names %q as its renewer, but the user name of the ResourceManager %s is %q", token.Service, about.Renewer, principal, name)
}

// resourceManager is the principal of the ResourceManager, and its user name on the cluster.
func resourceManager(conf *hadoopconf.Conf) (principal, name string, err error) {
	if principal, err = Renewer(conf); err != nil {
		return "", "", err
	}
	_, realm, _ := strings.Cut(principal, "@")
	names, err := conf.ShortNames(realm)
	if err != nil {
		return "", "", err
	}
	name, err = names.Short(principal)
	return principal, name, err
}
