package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/haservice"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// With Config.NameNodeHA there are two NameNodes behind a nameservice. They keep their edits in a shared folder, as
// others do on NFS. There is no failover controller: the start makes the first one active, and tests change that.

// nameservice is the authority of the pair's URIs.
const nameservice = "bobbin"

// haNameNodes holds the names of the two daemons, by dfs.ha.namenodes.
func haNameNodes() map[string]string {
	return map[string]string{"nn1": string(nameNode) + "1", "nn2": string(nameNode) + "2"}
}

// makeNameNodeHA replaces a NameNode's addresses in the clients' properties by those of two.
func makeNameNodeHA(core, hdfs map[string]string, ports *ports) {
	for _, name := range []string{"dfs.namenode.rpc-address", "dfs.namenode.http-address"} {
		hdfs[name+"."+nameservice+".nn1"], hdfs[name+"."+nameservice+".nn2"] = hdfs[name], ports.on(master)
		delete(hdfs, name)
	}
	core["fs.defaultFS"] = "hdfs://" + nameservice
	hdfs["dfs.nameservices"] = nameservice
	hdfs["dfs.ha.namenodes."+nameservice] = "nn1,nn2"
	hdfs["dfs.client.failover.proxy.provider."+nameservice] = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
}

// haNameNodeDaemon returns the NameNode with this id.
func haNameNodeDaemon(s *spec, id string) daemon {
	d := nameNodeDaemon(s)
	d.Name = haNameNodes()[id]
	d.Web = s.HDFS["dfs.namenode.http-address."+nameservice+"."+id]
	d.HDFS["dfs.ha.namenode.id"] = id
	d.HDFS["dfs.namenode.name.dir"] = fileURI(s.nameDir(d))
	d.HDFS["dfs.namenode.shared.edits.dir"] = "file://" + s.editsDir()
	d.HDFS["dfs.ha.standby.checkpoints"] = "false"
	return d
}

// editsDir is the folder with the edits that both NameNodes of a pair share.
func (s *spec) editsDir() string { return filepath.Join(s.Dir, haNameNodes()["nn1"], "edits") }

func (s *spec) nameDir(d daemon) string { return filepath.Join(s.Dir, d.Name, "name") }

func (s *spec) nameNodes() []daemon {
	return slices.DeleteFunc(slices.Clone(s.Daemons), func(d daemon) bool { return d.Kind != nameNode })
}

// prepareNameNodes makes the files that NameNodes need when they start.
func (c *Cluster) prepareNameNodes(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.formatNameNodes(gctx) })
	group.Go(func() error { return c.makeZoneKey(gctx) })
	return group.Wait()
}

// formatNameNodes formats the NameNodes' folders, unless they exist. The second NameNode gets a copy of the first one's
// folder, as -bootstrapStandby would make.
func (c *Cluster) formatNameNodes(ctx context.Context) error {
	pair := haNameNodes()
	group, gctx := errgroup.WithContext(ctx)
	for _, d := range c.spec.nameNodes() {
		if d.Name != pair["nn2"] && !c.isFormatted(d) {
			group.Go(func() error { return c.format(gctx, d) })
		}
	}
	if err := group.Wait(); err != nil || !c.spec.NameNodeHA {
		return err
	}
	first, second := daemon{Name: pair["nn1"]}, daemon{Name: pair["nn2"]}
	if c.isFormatted(second) {
		return nil
	}
	if err := os.CopyFS(c.spec.nameDir(second), os.DirFS(c.spec.nameDir(first))); err != nil {
		return fmt.Errorf("format %s: %w", second.Name, err)
	}
	return nil
}

func (c *Cluster) isFormatted(d daemon) bool {
	_, err := os.Stat(filepath.Join(c.spec.nameDir(d), "current", "VERSION"))
	return err == nil
}

// Activate makes the NameNode with this name active. The other one must be dead or standby, because nothing fences it.
func (c *Cluster) Activate(ctx context.Context, name string) error {
	server, err := c.haService(name)
	if err != nil {
		return err
	}
	return errors.Join(server.TransitionToActive(ctx), server.Close())
}

// activateFirst makes the first of two NameNodes active, and waits until it is healthy.
func (c *Cluster) activateFirst(ctx context.Context) error {
	first, err := c.spec.daemon(haNameNodes()["nn1"])
	if err != nil {
		return err
	}
	if err := c.Activate(ctx, first.Name); err != nil {
		return err
	}
	return c.waitReady(ctx, first)
}

// Deactivate makes the active NameNode, which has this name, a standby.
func (c *Cluster) Deactivate(ctx context.Context, name string) error {
	server, err := c.haService(name)
	if err != nil {
		return err
	}
	return errors.Join(server.TransitionToStandby(ctx), server.Close())
}

func (c *Cluster) haService(name string) (*haservice.Client, error) {
	d, err := c.spec.daemon(name)
	if err != nil {
		return nil, err
	}
	o, err := c.superuser()
	if err != nil {
		return nil, err
	}
	address := c.spec.HDFS["dfs.namenode.rpc-address."+nameservice+"."+d.HDFS["dfs.ha.namenode.id"]]
	return haservice.New(address, o), nil
}

// superuser returns a client for a NameNode as HDFS's superuser.
func (c *Cluster) superuser() (yarnrpc.Options, error) {
	if !c.Secure() {
		me, err := user.Current()
		if err != nil {
			return yarnrpc.Options{}, err
		}
		return yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: me.Username}}}, nil
	}
	login, err := c.Login(servicePrincipal("nn"))
	if err != nil {
		return yarnrpc.Options{}, err
	}
	qops, err := sasl.ParseProtection(c.spec.Core["hadoop.rpc.protection"])
	return yarnrpc.Options{Auth: yarnrpc.Auth{Login: login, Server: kerberos.Server{Principal: servicePrincipal("nn")}, QOPs: qops}}, err
}
