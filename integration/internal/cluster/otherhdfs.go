package cluster

import (
	"maps"
	"strings"
)

// With Config.OtherHDFS there is a second HDFS, as if of another cluster in the same realm. It and the first know nothing of
// each other; clients, and YARN, know both, the other one by the name of a nameservice.

// OtherNameservice is the authority of the other HDFS's URIs.
const OtherNameservice = "other"

const (
	otherNameNode = OtherNameservice + "-" + string(nameNode)
	otherDataNode = OtherNameservice + "-" + string(dataNode)
)

// addOtherHDFS adds the daemons of the other HDFS, and its name to the clients' properties. It comes when the daemons of the
// first are there, and no others.
func (s *spec) addOtherHDFS(ports *ports) {
	own := s.HDFS["dfs.nameservices"] // absent where there is one NameNode
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

// OtherHDFS returns the WebHDFS API of the other HDFS; an error where there is none.
func (c *Cluster) OtherHDFS() (HDFS, error) {
	d, err := c.spec.daemon(otherNameNode)
	if err != nil {
		return HDFS{}, err
	}
	return c.webHDFS(d.Web)
}
