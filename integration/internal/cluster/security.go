package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// verifySecurity asks the NameNode and the ResourceManager for the authentication methods and the protection that they
// offer. Their answer to a client shows the settings in force, whatever their configuration says.
func (c *Cluster) verifySecurity(ctx context.Context) error {
	want := "SIMPLE"
	if c.Secure() {
		want = "KERBEROS"
	}
	rm, err := c.activeRMAddress(ctx)
	if err != nil {
		return err
	}
	servers := map[string]string{string(nameNode): c.NameNodeAddress(), string(resourceManager): rm}
	if c.spec.OtherHDFS {
		servers[otherNameNode] = c.spec.HDFS["dfs.namenode.rpc-address."+OtherNameservice]
	}
	for name, address := range servers {
		got, err := c.Offers(ctx, address)
		if err != nil {
			return fmt.Errorf("read back the security of the %s: %w", name, err)
		}
		if diff := slices.DeleteFunc(slices.Clone(got.Methods), func(m string) bool { return m == "TOKEN" || m == want }); len(diff) > 0 || !slices.Contains(got.Methods, want) {
			return fmt.Errorf("the %s authenticates clients with %v, want %s", name, got.Methods, want)
		}
		if !c.Secure() {
			continue
		}
		qops, err := sasl.ParseProtection(c.spec.Core["hadoop.rpc.protection"])
		if err != nil {
			return err
		}
		if slices.Sort(qops); !slices.Equal(got.QOPs, qops) {
			return fmt.Errorf("the %s offers the protection %v, want %v", name, got.QOPs, qops)
		}
	}
	return nil
}

// Offers is a server's answer to a client that begins to log in.
type Offers struct {
	Methods []string   // SIMPLE, TOKEN, KERBEROS; in the server's order
	QOPs    []sasl.QOP // of TOKEN, sorted; empty if the server does not offer TOKEN
}

// Offers asks the RPC server at an address.
func (c *Cluster) Offers(ctx context.Context, address string) (Offers, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return Offers{}, err
	}
	defer conn.Close()
	hello, err := wire.AppendSASL(wire.AppendPreamble(nil, wire.AuthSASL), &commonpb.RpcSaslProto{State: commonpb.RpcSaslProto_NEGOTIATE.Enum()})
	if err != nil {
		return Offers{}, err
	}
	if _, err := conn.Write(hello); err != nil {
		return Offers{}, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(tryLimit)); err != nil {
		return Offers{}, err
	}
	frame, err := wire.ReadFrame(conn, wire.MaxFrame)
	if err != nil {
		return Offers{}, err
	}
	response, err := wire.ParseResponse(frame)
	if err != nil {
		return Offers{}, err
	}
	if response.Failure != nil {
		return Offers{}, errors.New(response.Failure.Message)
	}
	var reply commonpb.RpcSaslProto
	if err := response.Decode(&reply); err != nil {
		return Offers{}, err
	}
	return offersOf(&reply), nil
}

func offersOf(reply *commonpb.RpcSaslProto) Offers {
	var o Offers
	if reply.GetState() == commonpb.RpcSaslProto_SUCCESS {
		o.Methods = []string{"SIMPLE"} // and no other method
	}
	for _, auth := range reply.GetAuths() {
		o.Methods = append(o.Methods, auth.GetMethod())
		_, after, _ := strings.Cut(string(auth.GetChallenge()), `qop="`)
		list, _, _ := strings.Cut(after, `"`)
		for name := range strings.SplitSeq(list, ",") {
			if name != "" {
				o.QOPs = append(o.QOPs, sasl.QOP(name))
			}
		}
	}
	slices.Sort(o.QOPs)
	return o
}
