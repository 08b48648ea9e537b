package production

import (
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestTheEndIsToldInTime would catch a job without a keytab that dies one day and has told nobody
// before, or another day than the one on which its tokens do.
func TestTheEndIsToldInTime(t *testing.T) {
	t.Run("by the client, which submits it", func(t *testing.T) {
		t.Parallel()
		alice := suite.User(t, bobbintest.Alice)
		d := suite.Dawdle(t, alice, "-p", "1")
		end := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster))
		if want := "until " + end.Local().Format("2006-01-02 15:04"); !strings.Contains(d.Run.Seen().Stderr, want) {
			t.Errorf("the client does not say %q: %s", want, d.Run.Seen())
		}
		d.CheckSucceeds(t)
	})
	t.Run("by the master, when the last day has begun", func(t *testing.T) {
		cluster.Long(t)
		t.Parallel()
		c := suite.OwnCluster(t, cluster.ShortLives())
		alice := suite.UserOf(t, c, bobbintest.Alice)
		d := suite.Dawdle(t, alice, "-p", "1")
		end := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster))
		want := []string{"level=warning", "delegation token will end", end.Local().Format(time.RFC3339), "security.kerberos.login.keytab"}
		bobbintest.Eventually(t, "the master's log tells of the end", func() (bool, error) {
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

func holdsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
