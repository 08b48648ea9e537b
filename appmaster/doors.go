package appmaster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/spnego"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// doors configures REST's access for users other than the owner: through YARN's proxy, and on a cluster
// with Kerberos by YARN's tokens and by Kerberos tickets. The caller adds the owner's access.
func doors(ctx context.Context, env environment, logger logrus.FieldLogger) (rest.Config, error) {
	rights, err := rightsOf(env.launch.User, env.config, env.hadoop)
	if err != nil {
		return rest.Config{}, err
	}
	rights.Shared = env.launch.Mode == launch.Session
	c := rest.Config{Rights: rights, Proxy: rest.Proxy{
		Addresses: proxies(ctx, env.hadoop, env.host, logger),
		Users:     strings.EqualFold(env.hadoop.Get("hadoop.http.authentication.type"), "kerberos"),
		Anybody:   cmp.Or(env.hadoop.Get("hadoop.http.staticuser.user"), "dr.who"),
		Changes:   env.config.Bool(config.RESTProxyChanges),
		Origins:   proxyOrigins(env.hadoop),
	}}
	keytab := env.config.String(config.RESTKeytab)
	if !env.hadoop.SecurityEnabled() {
		if keytab != "" {
			return c, fmt.Errorf("%s is set, but the cluster has no Kerberos: remove the option", config.RESTKeytab)
		}
		return c, nil
	}
	names, err := env.hadoop.ShortNames(clusterRealm(env.hadoop))
	if err != nil {
		return rest.Config{}, err
	}
	c.ShortName = names.Short
	if keytab != "" {
		if c.Negotiator, err = spnego.Load(keytab, env.config.String(config.RESTPrincipal), env.host); err != nil {
			return rest.Config{}, err
		}
	}
	c.ClientToAM, err = clienttoam.NewVerifier(env.container.Attempt, env.hadoop.Get(clienttoam.AlgorithmKey))
	return c, err
}

// rightsOf returns the users' rights by Bobbin's options and by YARN's rules. YARN's rules count only on a
// cluster with Kerberos where yarn.acl.enable is true. Then yarn.admin.acl counts if the configuration sets
// it, because Hadoop's default is everybody. Through the proxy, everybody may view unless ACLs are in use
// or yarn.view.acls is set.
func rightsOf(owner string, options config.Config, hadoop *hadoopconf.Conf) (rest.Rights, error) {
	r := rest.Rights{
		Owner:    owner,
		View:     rest.ParseACL(options.String(config.YarnViewACLs)),
		Modify:   rest.ParseACL(options.String(config.YarnModifyACLs)),
		Enforced: options.IsSet(config.YarnViewACLs), // also if it names nobody
	}
	inUse, err := hadoop.Bool("yarn.acl.enable")
	if err != nil {
		return r, fmt.Errorf("read who may view the application: %w", err)
	}
	if inUse && hadoop.SecurityEnabled() {
		const admins = "yarn.admin.acl"
		r.Enforced = true
		if hadoop.SourceOf(admins) != (hadoopconf.Source{}) {
			r.Admins = rest.ParseACL(hadoop.Get(admins))
		}
	}
	return r, nil
}

// clusterRealm is the realm of the ResourceManager. Users of this realm have short names without a realm. A
// node need not have a krb5.conf that names it.
func clusterRealm(hadoop *hadoopconf.Conf) string {
	_, realm, _ := strings.Cut(hadoop.Get("yarn.resourcemanager.principal"), "@")
	return realm
}
