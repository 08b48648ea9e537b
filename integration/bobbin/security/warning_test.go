package security

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestTheEndIsToldInTime would catch a job without a keytab that ends with its tokens without an earlier warning, and a
// warning with a wrong date.
func TestTheEndIsToldInTime(t *testing.T) {
	t.Parallel()
	t.Run("by the client, which submits it", func(t *testing.T) {
		t.Parallel()
		alice := suite.User(t, bobbintest.Alice)
		d := suite.Dawdle(t, alice, "-p", "1")
		wantAdvice(t, d, "without a keytab the job can use HDFS")
		d.CheckSucceeds(t)
	})
	t.Run("by the client, where only the first attempt gets new ones", func(t *testing.T) {
		t.Parallel()
		alice := suite.User(t, bobbintest.Alice).WithoutTicket()
		d := suite.Dawdle(t, alice, slices.Concat(keytabOptions(alice), option("yarn.application-attempts", 2),
			option("flink.yarn.resourcemanager.proxy-user-privileges.enabled", false), []string{"-p", "1"})...)
		wantAdvice(t, d, "YARN can start another ApplicationMaster")
		d.CheckSucceeds(t)
	})
	t.Run("by the master, when the last day has begun", func(t *testing.T) {
		cluster.Long(t)
		t.Parallel()
		const renewal, life = 90 * time.Second, 5 * time.Minute
		lives := cluster.ShortLives()
		lives.HDFS = maps.Clone(lives.HDFS)
		lives.HDFS["dfs.namenode.delegation.token.renew-interval"] = strconv.FormatInt(renewal.Milliseconds(), 10)
		lives.HDFS["dfs.namenode.delegation.token.max-lifetime"] = strconv.FormatInt(life.Milliseconds(), 10)
		alice := suite.UserOf(t, clusters.Own(t, lives), bobbintest.Alice)
		alice.KeepTicket(t)
		d := suite.Trickle(t, alice, time.Hour, "-s", "1")
		end := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster))
		// Its tasks open one file after the other. After the tokens' first end they can do so only if the
		// ResourceManager renews the tokens.
		watch(t, d, end.Add(-life+renewal+renewal/2))
		want := []string{"level=warning", "delegation token will end", "at the latest", end.Local().Format(time.RFC3339), "security.kerberos.login.keytab"}
		wait.For(t, "the master's log tells of the end", func() (bool, error) {
			log := alice.Run(t, "logs", "--file", "jobmanager.log", d.Application).Stdout
			for line := range strings.Lines(log) {
				if holdsAll(line, want) {
					return true, nil
				}
			}
			return false, nil
		})
		d.CheckSucceeds(t)
	})
}

// wantAdvice checks that the client has warned of the end of a job's first tokens.
func wantAdvice(t *testing.T, d *bobbintest.Dawdler, what string) {
	t.Helper()
	d.Run.Says(t, d.Application+" is RUNNING") // which comes later
	end := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster))
	want := what + " until " + end.Local().Format("2006-01-02 15:04 MST") + " at the latest"
	if !strings.Contains(d.Run.Seen().Stderr, want) {
		t.Errorf("the client does not say %q: %s", want, d.Run.Seen())
	}
}

func holdsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
