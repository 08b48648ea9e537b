package rpctest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The environment variables of the ApplicationMaster in a container.
const (
	scenarioVariable = "BOBBIN_TEST_SCENARIO" // the scenario
	confVariable     = "BOBBIN_TEST_CONF"     // the folder of the cluster's configuration
	dirVariable      = "BOBBIN_TEST_DIR"      // the folder that the test reads
)

// Scenario is the work of a test's ApplicationMaster in a container. Its result is the final status of the application.
type Scenario func(context.Context, *Contained) error

// Contained is the Master in a container.
type Contained struct {
	*Master
	Conf    *hadoopconf.Conf
	Attempt records.ApplicationAttemptID
	Dir     string // the folder that the test reads
}

// Tell writes a file for the test. The file appears with its whole content.
func (c *Contained) Tell(name, text string) error {
	if err := os.WriteFile(filepath.Join(c.Dir, "."+name), []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(filepath.Join(c.Dir, "."+name), filepath.Join(c.Dir, name))
}

// Main is clusters.Main for a test binary that is also the ApplicationMaster of its tests.
func Main(m interface{ Run() int }, scenarios map[string]Scenario) (code int) {
	name := os.Getenv(scenarioVariable)
	if name == "" {
		return clusters.Main(m)
	}
	if err := lead(context.Background(), name, scenarios[name]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func lead(ctx context.Context, name string, scenario Scenario) error {
	conf, err := hadoopconf.Load(os.Getenv(confVariable), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		return err
	}
	o, err := ContainedOptions(conf)
	if err != nil {
		return err
	}
	o.Register.TrackingURL = "http://localhost:1"
	m, err := NewMaster(ctx, o)
	if err != nil {
		return err
	}
	defer m.Close()
	if scenario == nil {
		err = fmt.Errorf("unknown scenario %q", name)
	} else {
		err = scenario(ctx, &Contained{Master: m, Conf: conf, Attempt: o.RM.Attempt, Dir: os.Getenv(dirVariable)})
	}
	for id, s := range m.Completed {
		fmt.Fprintf(os.Stderr, "%s ended: %s %s\n", id, s.ExitStatus, s.Diagnostics)
	}
	if err != nil {
		return errors.Join(err, m.RM.Finish(ctx, records.FinalFailed, err.Error(), ""))
	}
	return m.RM.Finish(ctx, records.FinalSucceeded, "done by Go", "")
}

// ContainedOptions returns the options of the master in this process's container.
func ContainedOptions(conf *hadoopconf.Conf) (MasterOptions, error) {
	o, err := MasterOptionsOf(conf)
	if err != nil {
		return o, err
	}
	o.RM, err = amrm.FromContainer(conf, os.Getenv)
	return o, err
}

// InContainer returns an application whose ApplicationMaster is this test binary. YARN runs it from its place, because
// the nodes are on this machine. dir is the folder for Tell.
func InContainer(t testing.TB, c *cluster.Cluster, scenario string) (application records.SubmissionContext, dir string) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	application = Shell("exec " + binary)
	application.Resource.MemoryMB = 512
	application.Container.Environment = map[string]string{scenarioVariable: scenario, confVariable: c.ConfDir(), dirVariable: dir}
	return application, dir
}

// Told waits until an ApplicationMaster in a container has told something under this name, and returns it.
func Told(t testing.TB, dir, name string) (text string) {
	t.Helper()
	wait.For(t, name+" is told", func() (bool, error) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		text = strings.TrimSpace(string(content))
		return err == nil, err
	})
	return text
}

// AtOnce sets the number of parallel tests of this package, unless -parallel is given: these tests mostly wait for
// YARN. It is for a TestMain.
func AtOnce(n int) error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}
