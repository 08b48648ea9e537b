package hdfs_test

import (
	"errors"
	"fmt"
	"os"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// The example reads a file of a nameservice in a container that has only tokens.
func Example() {
	if err := printFile("nameservice1", "/user/alice/notes"); err != nil {
		fmt.Println(err)
	}
}

func printFile(nameservice, path string) error {
	conf, err := hadoopconf.Load(os.Getenv("HADOOP_CONF_DIR"), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		return err
	}
	tokens, err := creds.ReadFile(os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if err != nil {
		return err
	}
	o, err := hdfs.FromConf(conf, nameservice, os.Getenv("USER"))
	if err != nil {
		return err
	}
	o.RPC.Token = hdfs.TokenSource(conf, nameservice, func() *creds.Credentials { return tokens })

	dialer := hdfs.NewDialer(o)
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{nameservice}, User: os.Getenv("USER"), UseDatanodeHostname: o.UseDatanodeHostname,
		NamenodeDialFunc: dialer.DialNameNode, DatanodeDialFunc: dialer.DialDataNode,
	})
	if err != nil {
		return errors.Join(err, dialer.Close())
	}
	content, err := client.ReadFile(path)
	fmt.Printf("%s", content)
	return errors.Join(err, client.Close(), dialer.Close())
}
