package doctor

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestASecureCluster makes one illness after the other on a cluster with a KDC and two
// ResourceManagers, whose administrator is not alice. The worst come last, as nothing is healed.
func TestASecureCluster(t *testing.T) {
	c := cluster.ForTest(t, cluster.Config{
		NodeManagers: 1, HA: true, Kerberos: &cluster.Kerberos{Protection: "privacy"}, Users: []string{"alice", "bob"},
		YARN: map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "rm"},
		Scheduler: map[string]string{
			"yarn.scheduler.capacity.root.queues":                          "default,closed",
			"yarn.scheduler.capacity.root.default.capacity":                "50",
			"yarn.scheduler.capacity.root.closed.capacity":                 "50",
			"yarn.scheduler.capacity.root.acl_submit_applications":         " ",
			"yarn.scheduler.capacity.root.default.acl_submit_applications": "*",
			"yarn.scheduler.capacity.root.closed.acl_submit_applications":  "bob",
		},
	})
	cache := filepath.Join(t.TempDir(), "cache")
	alice := suite.UserOf(t, c, "alice").With("KRB5_CONFIG="+c.Krb5Conf(), "KRB5CCNAME=FILE:"+cache, "HADOOP_USER_NAME")
	byKeytab := []string{"--principal", "alice", "--keytab", c.Keytab("alice")}

	t.Run("no ticket yet", func(t *testing.T) {
		e := examine(t, alice)
		e.wants(t, "credentials", doctor.Failed, "there is no ticket in "+cache, "run kinit")
		e.wants(t, "resourcemanager", doctor.Skipped, "Kerberos credentials has failed", "")
	})
	t.Run("a keytab", func(t *testing.T) { wantHealthy(t, examine(t, alice, byKeytab...)) })
	t.Run("a ticket", func(t *testing.T) {
		if err := c.Kinit(t.Context(), "alice", cache); err != nil {
			t.Fatal(err)
		}
		e := examine(t, alice)
		wantHealthy(t, e)
		e.wants(t, "credentials", doctor.OK, "has a ticket of alice@"+cluster.Realm, "")
	})
	t.Run("a ticket that has expired", func(t *testing.T) { expiredTicket(t, alice) })
	t.Run("a keytab with keys of before", func(t *testing.T) { oldKeytab(t, alice) })
	for name, tc := range map[string]struct{ option, check, text, remedy string }{
		"less protection than the server's": {"flink.hadoop.hadoop.rpc.protection=authentication", "resourcemanager", "no common quality of protection", "hadoop.rpc.protection"},
		"a server of another name":          {"flink.yarn.resourcemanager.principal=yarn/_HOST@" + cluster.Realm, "resourcemanager", "rm/localhost@" + cluster.Realm, "principal"},
		"a client without Kerberos":         {"flink.hadoop.hadoop.security.authentication=simple", "resourcemanager", "AccessControlException", "set hadoop.security.authentication to kerberos"},
		"a home of another's":               {"yarn.staging-directory=/user/bob", "staging", "alice may not write in", "yarn.staging-directory"},
		"a queue that is closed to her":     {"yarn.application.queue=closed", "queue", "user alice may not submit to root.closed", "choose one of root.default"},
	} {
		t.Run(name, func(t *testing.T) {
			examine(t, alice, append(byKeytab, "-D", tc.option)...).wants(t, tc.check, doctor.Failed, tc.text, tc.remedy)
		})
	}
	t.Run("a clock that is off", func(t *testing.T) { wrongClock(t, alice, byKeytab) })

	t.Run("a ResourceManager is down", func(t *testing.T) {
		active, err := c.ActiveRM(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		standby := map[string]string{"resourcemanager1": "resourcemanager2", "resourcemanager2": "resourcemanager1"}[active]
		if err := c.Kill(t.Context(), standby); err != nil {
			t.Fatal(err)
		}
		e := examine(t, alice, byKeytab...)
		e.wants(t, "resourcemanager", doctor.Warning, "does not work: connect: connection refused", "have the server started")
		e.well(t, "queue")
		if err := c.Kill(t.Context(), active); err != nil {
			t.Fatal(err)
		}
		e = examine(t, alice, byKeytab...)
		e.wants(t, "resourcemanager", doctor.Failed, "no ResourceManager is active", "yarn rmadmin -getAllServiceState")
		e.wants(t, "queue", doctor.Skipped, "ResourceManager has failed", "")
		e.well(t, "namenode")
	})
	t.Run("the NameNode has keys of before, then none", func(t *testing.T) {
		for _, illness := range []struct{ command, text, remedy string }{
			{"cpw -randkey nn/localhost", "SaslException", "its keytab or its clock"},
			{"delprinc -force nn/localhost", "the kdc does not know this service", "[domain_realm]"},
		} {
			if err := c.Kadmin(t.Context(), illness.command); err != nil {
				t.Fatal(err)
			}
			e := examine(t, alice, byKeytab...)
			e.well(t, "login")
			e.wants(t, "namenode", doctor.Failed, illness.text, illness.remedy)
		}
	})
	t.Run("the NameNode is down", func(t *testing.T) {
		if err := c.Kill(t.Context(), "namenode"); err != nil {
			t.Fatal(err)
		}
		examine(t, alice, byKeytab...).wants(t, "namenode", doctor.Failed, "connection re", "server") // refused, or reset by the kernel that still clears it away
	})
	t.Run("the KDC is down", func(t *testing.T) {
		if err := c.Kill(t.Context(), "kdc"); err != nil {
			t.Fatal(err)
		}
		e := examine(t, alice, byKeytab...)
		e.wants(t, "kdc", doctor.Failed, "does not answer: connect: connection refused", "krb5.conf")
		e.wants(t, "login", doctor.Skipped, "KDCs and clocks has failed", "")
		e.well(t, "credentials", "names")
	})
}

// wantHealthy checks that all is well, and that the protection is what the servers have.
func wantHealthy(t *testing.T, e examined) {
	t.Helper()
	e.well(t, "options", "krb5", "credentials", "kdc", "login", "names", "resourcemanager", "namenode", "queue", "staging")
	for server, principal := range map[string]string{"resourcemanager": "rm", "namenode": "nn"} {
		e.wants(t, server, doctor.OK, "logged in by Kerberos at "+principal+"/localhost@"+cluster.Realm+", protection privacy", "")
	}
	e.wants(t, "resourcemanager", doctor.OK, "is active", "")
	e.wants(t, "resourcemanager", doctor.OK, "is standby", "")
}

func expiredTicket(t *testing.T, alice *bobbintest.User) {
	cache := filepath.Join(t.TempDir(), "cache")
	if err := alice.Cluster.Kinit(t.Context(), "alice", cache, "-l", "1s", "-r", "1s"); err != nil {
		t.Fatal(err)
	}
	bobbintest.Eventually(t, "the ticket expires", func() (bool, error) {
		e := examine(t, alice.With("KRB5CCNAME="+cache))
		if e.checks["credentials"].Status != doctor.Failed {
			return false, nil
		}
		e.wants(t, "credentials", doctor.Failed, "has expired", "run kinit alice@"+cluster.Realm)
		return true, nil
	})
}

// oldKeytab has a keytab whose keys were changed since, and then a user who is gone.
func oldKeytab(t *testing.T, alice *bobbintest.User) {
	c, dir := alice.Cluster, t.TempDir()
	old := filepath.Join(dir, "old.keytab")
	if err := c.Kadmin(t.Context(), "addprinc -randkey carol", "ktadd -q -k "+old+" carol", "ktadd -q -k "+filepath.Join(dir, "new.keytab")+" carol"); err != nil {
		t.Fatal(err)
	}
	e := examine(t, alice, "--principal", "carol", "--keytab", old)
	e.well(t, "credentials", "kdc")
	e.wants(t, "login", doctor.Failed, "carol@"+cluster.Realm+" cannot log in", "export the keytab anew")
	if err := c.Kadmin(t.Context(), "delprinc -force carol"); err != nil {
		t.Fatal(err)
	}
	e = examine(t, alice, "--principal", "carol", "--keytab", old)
	e.wants(t, "login", doctor.Failed, "the kdc does not know this user", "spell the principal")
}

// wrongClock has the KDC tell another time than it has, by a relay before it: to the client that
// is as if its own clock were off.
func wrongClock(t *testing.T, alice *bobbintest.User, args []string) {
	text, err := os.ReadFile(alice.Cluster.Krb5Conf())
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "\tkdc = ")
	kdc, _, _ := strings.Cut(after, "\n")
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	relayed := strings.ReplaceAll(string(text), "\tkdc = "+kdc, "\tkdc = "+relay(t, kdc, 20*time.Minute))
	if err := os.WriteFile(conf, []byte(relayed), 0o600); err != nil {
		t.Fatal(err)
	}
	e := examine(t, alice.With("KRB5_CONFIG="+conf), args...)
	e.wants(t, "kdc", doctor.Failed, "is 20m ahead of this machine's; 5m are allowed", "NTP")
	e.wants(t, "login", doctor.Skipped, "KDCs and clocks has failed", "")
}

// relay passes requests to a KDC, and puts the clock in its refusals forward.
func relay(t *testing.T, kdc string, ahead time.Duration) string {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if err := relayOne(t.Context(), client, kdc, ahead); err != nil {
				t.Error(err)
			}
			client.Close()
		}
	})
	t.Cleanup(func() {
		listener.Close() // ends the task
		tasks.Wait()
	})
	return listener.Addr().String()
}

func relayOne(ctx context.Context, client net.Conn, kdc string, ahead time.Duration) error {
	request, err := readMessage(client)
	if err != nil {
		return err
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", kdc)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := writeMessage(server, request); err != nil {
		return err
	}
	reply, err := readMessage(server)
	if err != nil {
		return err
	}
	var refusal messages.KRBError
	if err := refusal.Unmarshal(reply); err != nil {
		return fmt.Errorf("the KDC does not refuse: %w", err)
	}
	refusal.STime = refusal.STime.Add(ahead)
	if reply, err = refusal.Marshal(); err != nil {
		return err
	}
	return writeMessage(client, reply)
}

func readMessage(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, min(binary.BigEndian.Uint32(length[:]), 64<<10))
	_, err := io.ReadFull(r, message)
	return message, err
}

func writeMessage(w io.Writer, message []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...))
	return err
}
