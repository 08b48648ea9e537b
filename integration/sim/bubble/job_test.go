package bubble

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

const (
	jobID       = ids.JobID("0123456789abcdef0123456789abcdef")
	in          = "hdfs://" + dfsmodel.Authority + "/in"
	out         = "/out/names"
	home        = "hdfs://" + dfsmodel.Authority + "/user/alice"
	programHash = "5a"
	inputs      = 12 // files, with two names each
	parallelism = 2
	// mostTime is how long the application may take. Faults end long before.
	mostTime = time.Hour
)

// args are the arguments of the plan function.
type args struct {
	Slowest time.Duration // time for a name
}

// countNames counts names, each of which comes once, and takes its time for each.
var countNames = dataflow.Job("count-names-slowly", func(p *dataflow.Plan, a args) error { //nolint:gochecknoglobals // as programs have it
	names := dataflow.Map(dataflow.ReadText(p, in), func(name []byte) string {
		hash := fnv.New64a()
		hash.Write(name)
		_ = sched.Sleep(context.Background(), time.Duration(hash.Sum64()%uint64(a.Slowest))) // a user's function has no context
		return string(name)
	})
	counts := dataflow.Count(dataflow.KeyBy(names, dataflow.Identity[string]))
	dataflow.WriteText(counts, "hdfs://"+dfsmodel.Authority+out, func(dst []byte, kv dataflow.KV[string, int64]) []byte {
		return strconv.AppendInt(append(append(dst, kv.Key...), '='), kv.Value, 10)
	})
	return nil
})

func nameOf(i int) string { return fmt.Sprint("name", i) }

// client is the process of the user: it submits the job in per-job mode, and waits for its end.
type client struct {
	*process
	yarn   *yarnclient.Client
	report records.ApplicationReport // the last one
}

// submitAndWait runs the whole life of the application.
func (c *client) submitAndWait(ctx context.Context, slowest time.Duration) error {
	o, err := yarnclient.FromConf(c.cluster.yarn.Conf(), "alice")
	if err != nil {
		return err
	}
	o.RPC.Dial = c.DialYARN
	c.yarn = yarnclient.New(o)
	defer c.yarn.Close()
	app, err := c.yarn.NewApplication(ctx)
	if err != nil {
		return err
	}
	dir := home + "/.bobbin/" + app.ID.String()
	if err := c.stage(ctx, dir, slowest); err != nil {
		return err
	}
	description, err := launch.Encode(launch.AppMaster{
		Mode: launch.PerJob, StagingDir: dir, User: "alice",
		Bobbin:     launch.Resource{URI: dir + "/bobbin"},
		Program:    launch.Resource{URI: dir + "/program"},
		ProgramRef: msg.Program{Name: "bubble", SHA256: programHash},
	})
	if err != nil {
		return err
	}
	c.report, err = c.yarn.Submit(ctx, records.SubmissionContext{
		ID: app.ID, Name: "bubble", Resource: records.Resource{MemoryMB: 1024, VCores: 1}, MaxAttempts: mostAttempts,
		Container: records.ContainerLaunchContext{Commands: []string{"appmaster"}, Environment: map[string]string{launch.Variable: description}},
	})
	if err != nil {
		return err
	}
	for !c.report.State.Terminal() {
		if err := sched.Sleep(ctx, 5*time.Second); err != nil {
			return err
		}
		report, err := c.yarn.ApplicationReport(ctx, app.ID)
		if err != nil {
			return err
		}
		c.report = report
	}
	return nil
}

// stage writes the input and what the ApplicationMaster reads.
func (c *client) stage(ctx context.Context, dir string, slowest time.Duration) error {
	files := c.files()
	for _, dir := range []string{in, dir} {
		if err := files.MkdirAll(ctx, dir); err != nil {
			return err
		}
	}
	for i := range inputs {
		content := fmt.Sprintf("%s\n%s\n", nameOf(2*i), nameOf(2*i+1))
		if err := files.WriteFile(ctx, fmt.Sprint(in, "/", i), []byte(content), 0o644); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(args{Slowest: slowest})
	if err != nil {
		return err
	}
	compiled, err := dataflow.Compile(countNames.Name(), encoded, dataflow.PlanOptions{Parallelism: parallelism})
	if err != nil {
		return err
	}
	prepared, err := compiled.Prepare(ctx, files, nil)
	if err != nil {
		return err
	}
	graph, err := json.Marshal(prepared)
	if err != nil {
		return err
	}
	staged := launch.Staged{Job: &launch.Job{ID: jobID, Graph: graph}}
	for _, n := range c.cluster.yarn.Nodes() {
		staged.Nodes = append(staged.Nodes, launch.Node{Host: n.Host, Port: n.Port, MemoryMB: nodeSize.MemoryMB, VCores: nodeSize.VCores})
	}
	content, err := json.Marshal(staged)
	if err != nil {
		return err
	}
	return files.WriteFile(ctx, dir+"/"+launch.StagedFile, content, 0o600)
}

// checkOutput compares the output: each name once, the parts, _SUCCESS, and nothing else.
func (c *cluster) checkOutput() error {
	c.files.mu.Lock()
	defer c.files.mu.Unlock()
	var found, names []string
	for _, s := range c.files.space.Tree(time.Now(), out) {
		if s.IsDir { // a late call of an attempt that was given up may make an empty _temporary again
			continue
		}
		found = append(found, path.Base(s.Path))
		if path.Base(s.Path) == "_SUCCESS" {
			continue
		}
		content, _, err := c.files.space.Read(time.Now(), s.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.Path, err)
		}
		names = append(names, strings.Fields(string(content))...)
	}
	want := []string{"_SUCCESS"}
	for i := range parallelism {
		want = append(want, fmt.Sprintf("part-%05d", i))
	}
	if diff := cmp.Diff(want, found); diff != "" {
		return fmt.Errorf("files of the output (-want +got):\n%s", diff)
	}
	var each []string
	for i := range 2 * inputs {
		each = append(each, nameOf(i)+"=1")
	}
	slices.Sort(names)
	slices.Sort(each)
	if diff := cmp.Diff(each, names); diff != "" {
		return fmt.Errorf("the output (-want +got):\n%s", diff)
	}
	return nil
}

// collect runs gc, and checks that nothing staged is left. A master that was killed leaves its files to gc.
func collect(ctx context.Context, p *process) error {
	_, err := staging.New(p.files(), home, 0).Collect(ctx, staging.Collection{
		Over: func(context.Context, string) (bool, error) { return true, nil }, Now: time.Now(),
	})
	if err != nil {
		return fmt.Errorf("gc fails: %w", err)
	}
	p.cluster.files.mu.Lock()
	defer p.cluster.files.mu.Unlock()
	for _, s := range p.cluster.files.space.Tree(time.Now(), "/user/alice/.bobbin") {
		if s.Path != "/user/alice/.bobbin/cache" {
			return fmt.Errorf("gc leaves %s", s.Path) //nolint:err113 // for the test's output
		}
	}
	return nil
}
