package client

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestALongWaitAsksYARNSeldom would catch clients that ask the ResourceManager twenty times a second for as long as their
// applications wait, one that asks more often than the administrator wants, and one that sees the end of a short wait late.
func TestALongWaitAsksYARNSeldom(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	for _, c := range []struct {
		first, set, takes time.Duration
		most              int           // looks
		late              time.Duration // at most
	}{
		{pollInterval, 0, 200 * time.Millisecond, 6, pollInterval},
		{pollInterval, 0, 4 * time.Second, 50, 500 * time.Millisecond},
		{pollInterval, 0, time.Hour, 3700, time.Second},
		{pollInterval, 5 * time.Second, time.Minute, 14, 5 * time.Second},
		{pollInterval, time.Millisecond, time.Hour, 3700, time.Second},
		{endPoll, 0, 20 * time.Millisecond, 6, endPoll},
		{endPoll, 0, time.Hour, 3750, time.Second},
		{endPoll, 5 * time.Second, time.Minute, 14, 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := fakeCluster(t, yarnfake.Config{InMemory: true, Heartbeat: -1})
			o, err := yarnclient.FromConf(fake.Conf(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			o.RPC.Dial = fake.Dial
			rm := yarnclient.New(o)
			defer rm.Close()
			created, err := rm.NewApplication(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rm.Submit(t.Context(), records.SubmissionContext{ID: created.ID, Type: "Bobbin", Resource: records.Resource{MemoryMB: 128, VCores: 1}}); err != nil {
				t.Fatal(err)
			}
			app := Application{ID: created.ID, c: &Cluster{YARN: rm, poll: c.set}}
			looks, began := 0, time.Now()
			_, err = app.await(t.Context(), c.first, func(records.ApplicationReport) { looks++ }, func(records.ApplicationReport) bool { return time.Since(began) >= c.takes })
			if err != nil {
				t.Fatal(err)
			}
			if late := time.Since(began) - c.takes; looks > c.most || late > c.late {
				t.Errorf("from %v, set to %v: a wait of %v takes %d looks and is seen to end %v later, want %d and %v at most", c.first, c.set, c.takes, looks, late, c.most, c.late)
			}
		})
	}
}

// TestTheAdministratorsIntervalHolds would catch one that is shortened to Bobbin's, and Hadoop's default in its place.
func TestTheAdministratorsIntervalHolds(t *testing.T) {
	for set, want := range map[string]time.Duration{
		"": 0,
		"<property><name>" + pollProperty + "</name><value>2000</value></property>": 2 * time.Second,
		"<property><name>" + pollProperty + "</name><value>200</value></property>":  200 * time.Millisecond,
	} {
		dir := t.TempDir()
		site := "<configuration><property><name>yarn.resourcemanager.hostname</name><value>rm</value></property>" + set + "</configuration>"
		if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(site), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"HADOOP_CONF_DIR": dir, "HADOOP_USER_NAME": "alice"}
		c, err := Open(t.Context(), func(name string) string { return env[name] }, config.Config{}, logrus.New())
		if err != nil {
			t.Fatal(err)
		}
		if c.poll != want {
			t.Errorf("%q: looks are %v apart, want %v", set, c.poll, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
