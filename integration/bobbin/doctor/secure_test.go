package doctor

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestASecureCluster causes one failure after the other on a cluster with a KDC and two of each server, whose
// administrator is not alice. It would catch a failure that `bobbin doctor` does not find, or for which it names the
// wrong remedy.
func TestASecureCluster(t *testing.T) {
	c := clusters.Change(t, clusters.SecurePair, "changes the NameNodes' keys, and kills the KDC")
	cache := filepath.Join(t.TempDir(), "cache")
	alice := suite.UserOf(t, c, "alice").With("KRB5_CONFIG="+c.Krb5Conf(), "KRB5CCNAME=FILE:"+cache, "HADOOP_USER_NAME")
	byKeytab := []string{"--principal", "alice", "--keytab", c.Keytab("alice")}

	t.Run("no ticket yet", func(t *testing.T) {
		e := examine(t, alice)
		e.wants(t, "credentials", doctor.Failed, "there is no ticket in "+cache, "run kinit")
		e.wants(t, "resourcemanager", doctor.Skipped, `the check "Kerberos credentials" has failed`, "")
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
	t.Run("a keytab of somebody else", func(t *testing.T) {
		e := examine(t, alice, "--principal", "alice", "--keytab", c.Keytab("bob"))
		e.wants(t, "credentials", doctor.Failed, "it has keys only of bob@"+cluster.Realm, "its principals with --principal: bob@"+cluster.Realm)
		e.wants(t, "login", doctor.Skipped, `the check "Kerberos credentials" has failed`, "")
	})
	t.Run("another realm", func(t *testing.T) {
		e := examine(t, alice, "--principal", "alice@OTHER.TEST", "--keytab", c.Keytab("alice"))
		e.wants(t, "credentials", doctor.Failed, "alice@OTHER.TEST", "its principals with --principal: alice@"+cluster.Realm)
	})
	t.Run("a setting that is wrong", func(t *testing.T) {
		for name, tc := range map[string]struct{ option, check, text, remedy string }{
			"less protection than the server's":   {"flink.hadoop.hadoop.rpc.protection=authentication", "resourcemanager", "no common quality of protection", "hadoop.rpc.protection"},
			"less protection than the DataNodes'": {"flink.hadoop.dfs.data.transfer.protection=authentication", "staging", "no common quality of protection", "set dfs.data.transfer.protection"},
			"a server of another name":            {"flink.yarn.resourcemanager.principal=yarn/_HOST@" + cluster.Realm, "resourcemanager", "rm/localhost@" + cluster.Realm, "principal"},
			"a client without Kerberos":           {"flink.hadoop.hadoop.security.authentication=simple", "resourcemanager", "AccessControlException", "set hadoop.security.authentication to kerberos"},
			"a home of another's":                 {"yarn.staging-directory=/user/bob", "staging", "user alice may not write to", "yarn.staging-directory"},
			"a queue that is closed to her":       {"yarn.application.queue=" + clusters.Closed, "queue", "user alice may not submit to root.closed", "choose one of root.default"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				examine(t, alice, slices.Concat(byKeytab, []string{"-D", tc.option})...).wants(t, tc.check, doctor.Failed, tc.text, tc.remedy)
			})
		}
	})
	t.Run("a clock that is off", func(t *testing.T) { wrongClock(t, alice, byKeytab) })
	t.Run("tokens and other users", func(t *testing.T) { others(t, alice, byKeytab) })
	t.Run("what run says", func(t *testing.T) { whatRunSays(t, alice) })

	t.Run("the NameNode has keys of before, then none", func(t *testing.T) {
		const nn = "nn/localhost@" + cluster.Realm
		t.Cleanup(func() {
			if err := c.Kadmin(wait.Context(t), "renprinc -force gone/localhost nn/localhost", "ktadd -q -k "+c.Keytab("nn")+" nn/localhost"); err != nil {
				t.Error(err)
			}
		})
		for _, illness := range []struct {
			command, text, remedy string
			run                   []string
		}{
			{
				"cpw -randkey nn/localhost", "SaslException", "its keytab or its clock",
				[]string{c.NameNodeAddress(), "alice@" + cluster.Realm, nn, "the server rejects the ticket: its keytab", "its clock is wrong"},
			},
			{
				"renprinc -force nn/localhost gone/localhost", "the kdc does not know this service", "[domain_realm]",
				[]string{c.NameNodeAddress(), "alice@" + cluster.Realm, nn, "the kdc does not know this service"},
			},
		} {
			if err := c.Kadmin(t.Context(), illness.command); err != nil {
				t.Fatal(err)
			}
			e := examine(t, alice, byKeytab...)
			e.well(t, "login")
			e.wants(t, "namenode", doctor.Failed, illness.text, illness.remedy)
			refused(t, alice.Run(t, bobbintest.Small(suite.Program(t, "wordcount"), "--input", "/tmp", "--output", "/tmp/refused")...), illness.run...)
		}
	})
	t.Run("the KDC is down", func(t *testing.T) {
		if err := c.Kill(t.Context(), "kdc"); err != nil {
			t.Fatal(err)
		}
		e := examine(t, alice, byKeytab...)
		e.wants(t, "kdc", doctor.Failed, "does not answer: connect: connection refused", "krb5.conf")
		e.wants(t, "login", doctor.Skipped, `the check "KDCs and clocks" has failed`, "")
		e.well(t, "credentials", "names")
	})
}

// wantHealthy checks that nothing is wrong, and that the output names the servers' protection.
func wantHealthy(t *testing.T, e examined) {
	t.Helper()
	e.well(t, "options", "krb5", "credentials", "kdc", "login", "names", "resourcemanager", "namenode", "queue", "staging")
	for server, principal := range map[string]string{"resourcemanager": "rm", "namenode": "nn"} {
		e.wants(t, server, doctor.OK, "logged in by Kerberos at "+principal+"/localhost@"+cluster.Realm+", protection privacy", "")
	}
	e.wants(t, "resourcemanager", doctor.OK, "is active", "")
	e.wants(t, "resourcemanager", doctor.OK, "is standby", "")
	e.well(t, "tokens")
	e.wants(t, "tokens", doctor.OK, "gives user alice a token; rm may renew it until 20", "")
}

// others tests impersonation: alice for bob, bob for alice, and then tokens instead of a login.
func others(t *testing.T, alice *bobbintest.User, byKeytab []string) {
	e := examine(t, alice, append(byKeytab, "--proxy-user", "bob")...)
	e.well(t, "credentials", "resourcemanager", "namenode", "staging", "tokens")
	e.wants(t, "namenode", doctor.OK, "alice may act for bob", "")
	e.wants(t, "tokens", doctor.OK, "gives user bob a token", "")
	e.wants(t, "tokens", doctor.OK, "the keytab stays on this machine: it belongs to alice, and the job runs as bob", "")

	e = examine(t, alice, "--principal", "bob", "--keytab", alice.Cluster.Keytab("bob"), "--proxy-user", "alice")
	for _, server := range []string{"resourcemanager", "namenode"} {
		e.wants(t, server, doctor.Failed, "User: bob@"+cluster.Realm+" is not allowed to impersonate alice", "allow bob to act for alice: set hadoop.proxyuser.bob.hosts")
	}

	bearer := alice.With("KRB5CCNAME=FILE:" + filepath.Join(t.TempDir(), "none"))
	held := tokensOf(t, alice)
	e = examine(t, bearer.With("HADOOP_TOKEN_FILE_LOCATION="+held.write(t)))
	e.well(t, "credentials", "resourcemanager", "namenode", "staging", "tokens")
	e.wants(t, "credentials", doctor.OK, "holds a HDFS_DELEGATION_TOKEN for ", "")
	e.wants(t, "namenode", doctor.OK, "logged in by a token, protection privacy", "")
	e.wants(t, "tokens", doctor.OK, "that the launcher passed in", "")

	held.cancel(t)
	e = examine(t, bearer.With("HADOOP_TOKEN_FILE_LOCATION="+held.write(t)))
	e.wants(t, "namenode", doctor.Failed, "can't be found in cache", "get new tokens")
	e.well(t, "resourcemanager")
}

func expiredTicket(t *testing.T, alice *bobbintest.User) {
	cache := filepath.Join(t.TempDir(), "cache")
	if err := alice.Cluster.Kinit(t.Context(), "alice", cache, "-l", "1s", "-r", "1s"); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the ticket expires", func() (bool, error) {
		e := examine(t, alice.With("KRB5CCNAME="+cache))
		if e.checks["credentials"].Status != doctor.Failed {
			return false, nil
		}
		e.wants(t, "credentials", doctor.Failed, " expired ", "run kinit alice@"+cluster.Realm)
		return true, nil
	})
}

// oldKeytab tests a keytab with old keys, and then a deleted user.
func oldKeytab(t *testing.T, alice *bobbintest.User) {
	c := alice.Cluster
	old := newUser(t, c, "fred")
	if err := c.Kadmin(t.Context(), "cpw -randkey fred"); err != nil {
		t.Fatal(err)
	}
	e := examine(t, alice, "--principal", "fred", "--keytab", old)
	e.well(t, "credentials", "kdc")
	e.wants(t, "login", doctor.Failed, "fred@"+cluster.Realm+" cannot log in", "export the keytab again")
	if err := c.Kadmin(t.Context(), "delprinc -force fred"); err != nil {
		t.Fatal(err)
	}
	e = examine(t, alice, "--principal", "fred", "--keytab", old)
	e.wants(t, "login", doctor.Failed, "the kdc does not know this user", "spell the principal")
}
