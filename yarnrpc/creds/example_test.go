package creds_test

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// A token goes from the client that got it to a container that uses it. No output shows
// it.
func Example() {
	token := &creds.Token{Kind: creds.KindHDFSDelegation, Service: creds.NameserviceService("ns1"), Password: []byte("secret")}

	c := creds.New()
	c.Tokens[token.Service] = token
	tokens := c.Marshal() // the Tokens of a ContainerLaunchContext

	found, err := creds.Parse(tokens) // in the container: ReadFile(os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if err != nil {
		fmt.Println(err)
		return
	}
	same := found.Select(creds.KindHDFSDelegation, "ha-hdfs:ns1")
	fmt.Println(string(same.Password) == "secret")
	fmt.Printf("%v\n%+v\n", found, same)
	// Output:
	// true
	// credentials(1 tokens, 0 secrets)
	// token(HDFS_DELEGATION_TOKEN, service "ha-hdfs:ns1", identifier of 0 bytes)
}
