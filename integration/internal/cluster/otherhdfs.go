package cluster

import (
	"maps"
	"strings"
)

// With Config.OtherHDFS there is a second HDFS, like that of another cluster in the same realm. The two do not know
// each other. Clients and YARN know both, the second one by the name of a nameservice.

// OtherNameservice is the authority of the other HDFS's URIs.
const OtherNameservice = "other"

const (
	otherNameNode = OtherNameservice + "-" + string(nameNode)
	otherDataNode = OtherNameservice + "-" + string(dataNode)
)

// addOtherHDFS adds the daemons of the other HDFS, and its name in the clients' properties. It must be called after the
// daemons of the first HDFS are added, and before all others.
func (s *spec) addOtherHDFS(ports *ports) {
	own := s.HDFS["dfs.nameservices"] // absent if there is one NameNode
	for _, d := range s.Daemons {
		d.HDFS["dfs.nameservices"] = own
	}
	address, web := ports.on(master), ports.on(master)
	maps.Copy(s.HDFS, map[string]string{
		"dfs.nameservices": strings.TrimPrefix(own+","+OtherNameservice, ","),
		"dfs.namenode.rpc-address." + OtherNameservice:           address,
		"dfs.client.failover.proxy.provider." + OtherNameservice: "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
	})

	nn, dn := nameNodeDaemon(s), dataNodeDaemon(s, otherDataNode, 0, ports)
	nn.Name, nn.Web = otherNameNode, web
	nn.HDFS["dfs.namenode.name.dir"] = fileURI(s.nameDir(nn))
	dn.HDFS["dfs.datanode.data.dir"] = fileURI(s.Dir, dn.Name, "data")
	for _, d := range []daemon{nn, dn} {
		d.Core["fs.defaultFS"] = "hdfs://" + address
		maps.Copy(d.HDFS, map[string]string{
			"dfs.nameservices":          "",
			"dfs.namenode.rpc-address":  address,
			"dfs.namenode.http-address": web,
		})
		s.Daemons = append(s.Daemons, d)
	}
}

// OtherHDFS returns the WebHDFS API of the other HDFS, or an error if there is none.
func (c *Cluster) OtherHDFS() (HDFS, error) {
	d, err := c.spec.daemon(otherNameNode)
	if err != nil {
		return HDFS{}, err
	}
	return c.webHDFS(d.Web)
}
