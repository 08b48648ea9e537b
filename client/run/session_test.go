package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/rest/resttest"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// supplying is a master with two slots; each new TaskExecutor has 1 GB and two more.
type supplying struct{ rest.Gateway }

func (supplying) SlotSupply(context.Context) (msg.SlotSupply, error) {
	return msg.SlotSupply{Total: 2, PerWorker: 2, WorkerMemoryMB: 1024}, nil
}

// TestASessionsJobThatCanHardlyFitIsToldSo would catch a job of hundreds of workers that waits on a small
// cluster without a warning, a warning of a job that has its slots, and one with this client's timeout in place
// of the session's.
func TestASessionsJobThatCanHardlyFitIsToldSo(t *testing.T) {
	cluster := clusterOfTwo(t)
	reached, err := client.NewClusterClient(resttest.Serve(t, supplying{}, rest.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reached.Close)
	for slots, says := range map[int]bool{2: false, 10_000: true} {
		var out bytes.Buffer
		job := session{site: &onYARN{cluster: cluster}, reached: reached, Request: Request{Journal: NewJournal(&out, time.Now(), false), limits: limitsOf(config.Config{})}}
		job.adviseOnSize(t.Context(), slots)
		if strings.HasPrefix(out.String(), "the job may not fit: its 10000 slots take 5000 TaskExecutors of 1024 MB") != says || !says && out.Len() > 0 {
			t.Errorf("%d slots: %q", slots, out.String())
		}
		if strings.Contains(out.String(), config.SlotRequestTimeout.Name()) {
			t.Errorf("%d slots: %q tells this command's %s, and the session's holds", slots, out.String(), config.SlotRequestTimeout)
		}
	}
}

// errNotTaken is the error of a cluster that refuses every job.
var errNotTaken = errors.New("nothing is taken")

type takesNothing struct{ cluster }

func (takesNothing) submit(context.Context, *jobgraph.JobGraph) (*running, error) {
	return nil, errNotTaken
}

// TestAnInputWithoutFilesIsWarnedOf would catch a job on the wrong directory that finishes at once, without a
// warning.
func TestAnInputWithoutFilesIsWarnedOf(t *testing.T) {
	var out bytes.Buffer
	r := runner{cluster: takesNothing{}, Journal: NewJournal(&out, time.Now(), false)}
	graph := jobgraph.JobGraph{Name: "words", Vertices: []jobgraph.Vertex{{Name: "read text", Source: true}}}
	if _, _, err := r.execute(t.Context(), nil, &graph); !errors.Is(err, errNotTaken) || !strings.HasPrefix(out.String(), "warning: job words reads nothing in read text: ") {
		t.Errorf("%v, printed %q", err, out.String())
	}
}

// forgetful is a session that forgets files.
type forgetful struct {
	rest.Gateway
	rest.Session

	has       map[string]string // name by hash
	uploads   []string
	submitted []restapi.JobSubmission
}

func (f *forgetful) find(sha256 string, missing error) (msg.ProgramDetails, error) {
	if f.has[sha256] == "" {
		return msg.ProgramDetails{}, missing
	}
	return msg.ProgramDetails{}, nil
}

func (f *forgetful) add(name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	text, err := io.ReadAll(content)
	f.has[sha256] = name
	f.uploads = append(f.uploads, name+" "+strconv.Itoa(len(text)))
	return msg.ProgramDetails{}, err
}

func (f *forgetful) Program(_ context.Context, sha256 string) (msg.ProgramDetails, error) {
	return f.find(sha256, msg.ErrProgramNotFound)
}

func (f *forgetful) File(_ context.Context, sha256 string) (msg.ProgramDetails, error) {
	return f.find(sha256, msg.ErrFileNotFound)
}

func (f *forgetful) AddProgram(_ context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return f.add(name, sha256, content)
}

func (f *forgetful) AddFile(_ context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return f.add(name, sha256, content)
}

func (f *forgetful) SubmitJob(_ context.Context, job restapi.JobSubmission) error {
	for _, file := range job.Graph.Files {
		if file.SHA256 != "" && f.has[file.SHA256] == "" {
			return msg.ErrFileNotFound
		}
	}
	f.submitted = append(f.submitted, job)
	return nil
}

// TestCachedFilesGoWithTheProgram would catch a job whose file is not uploaded, one whose file is uploaded again for
// each job, and a program with several jobs that fails because the session has forgotten a file between two of them.
func TestCachedFilesGoWithTheProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cities.csv"), []byte("Rome"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"pipeline.cached-files": "name:cities,path:" + dir + "/cities.csv;name:zones,path:hdfs:///zones",
		"yarn.ship-files":       "a;b",
	}})
	if err != nil {
		t.Fatal(err)
	}
	g := &forgetful{has: make(map[string]string)}
	access := resttest.Serve(t, g, rest.Config{Session: g})
	var out bytes.Buffer
	s := &session{
		Request: Request{Config: c, Journal: NewJournal(&out, time.Now(), false)}, site: &elsewhere{access: access},
		program: program.Program{Path: executable(t, program.Native(), ""), Name: "words", SHA256: strings.Repeat("1", 64)},
	}
	if err := s.findFiles(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.adviseShipped()
	if !strings.Contains(out.String(), "yarn.ship-files has no effect: the session runs already; pipeline.cached-files brings files to the tasks of a job") {
		t.Errorf("printed %q", out.String())
	}
	end := s.open(t.Context())
	for range 3 {
		if _, err := s.submit(t.Context(), &jobgraph.JobGraph{Name: "words"}); err != nil {
			t.Fatal(err)
		}
		if len(g.submitted) == 2 {
			for sha256, name := range g.has {
				if name == "cities.csv" {
					delete(g.has, sha256)
				}
			}
		}
	}
	end()
	if len(g.uploads) != 3 || g.uploads[1] != "cities.csv 4" || g.uploads[2] != "cities.csv 4" {
		t.Errorf("uploads are %q", g.uploads)
	}
	for _, job := range g.submitted {
		if f := job.Graph.Files; len(f) != 2 || f[0].Name != "cities" || f[0].SHA256 == "" || f[1].URI != "hdfs:///zones" {
			t.Errorf("submitted %+v", f)
		}
	}
}
