package run

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAJobThatCanHardlyFitIsToldSoAndSubmitted would catch a job that asks nodes with 16 GB for 80 GB without a
// warning, a refusal of that job, and a warning of a job that fits.
func TestAJobThatCanHardlyFitIsToldSoAndSubmitted(t *testing.T) {
	cluster := clusterOfTwo(t)
	bobbin, job := executable(t, program.Native(), ""), executable(t, program.Native(), mark(jobgraph.ProtocolVersion))
	for slots, warning := range map[int]string{
		2:  "",
		80: "the job may not fit: its 80 slots take 80 TaskExecutors of 1024 MB, 82432 MB in all, and the nodes have 16384 MB together. ",
	} {
		var out bytes.Buffer
		r := Request{Program: job, Executable: bobbin, Journal: NewJournal(&out, time.Now(), false)}
		target := perJob{Request: r, witness: witness{Journal: r.Journal}, on: cluster}
		if err := target.inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := target.submit(t.Context(), &jobgraph.JobGraph{Name: "words", Vertices: []jobgraph.Vertex{{Parallelism: slots}}})
		if err != nil {
			t.Fatalf("%d slots: %v", slots, err)
		}
		if report, err := target.report(t.Context()); err != nil || report.State != records.ApplicationRunning {
			t.Errorf("%d slots: YARN says %s, %v", slots, report.State, err)
		}
		_, said, submitted := strings.Cut(out.String(), "submitted "+got.application+"\n")
		if !submitted || strings.HasPrefix(said, "the job may not fit: ") != (warning != "") || !strings.HasPrefix(said, warning) {
			t.Errorf("%d slots: printed\n%s", slots, &out)
		}
	}
}

// TestASecondSessionTakesTheFirstOnesPlace would catch a second session that takes the place without a message,
// or names itself in the warning.
func TestASecondSessionTakesTheFirstOnesPlace(t *testing.T) {
	cluster := clusterOfTwo(t)
	path := filepath.Join(t.TempDir(), "session")
	var first records.ApplicationID
	for _, place := range []string{"first", "second"} {
		var out bytes.Buffer
		s := sessionStart{file: path, Request: Request{Journal: NewJournal(&out, time.Now(), false)}}
		bobbin, err := client.Binary(executable(t, program.Native(), ""), s.Config)
		if err != nil {
			t.Fatal(err)
		}
		app, err := s.start(t.Context(), cluster, bobbin)
		if err != nil {
			t.Fatal(err)
		}
		if written, err := sessionfile.Read(path); err != nil || written.Application != app.ID {
			t.Errorf("the %s is %s, and written down is %s, %v", place, app.ID, written.Application, err)
		}
		warning := fmt.Sprintf("session %s replaces session %s in %s; ", app.ID, first, path)
		if warned := strings.Contains(out.String(), warning); warned != (place == "second") || strings.Contains(out.String(), "replaces") != warned {
			t.Errorf("of the %s is printed\n%s", place, &out)
		}
		first = app.ID
	}
}

// TestASecondSessionTellsOfTheFirst would catch jobs that silently go to another session than before, a
// forgotten session, and the message that a session on another cluster runs, with a command that does not end
// it.
func TestASecondSessionTellsOfTheFirst(t *testing.T) {
	cluster := clusterOfTwo(t)
	first := submitted(t, cluster)
	file := filepath.Join(t.TempDir(), "session")
	forgotten := first
	forgotten.ID++
	started := first
	started.ID += 2
	told := func(before sessionfile.Session) string {
		var out bytes.Buffer
		sessionStart{file: file, Request: Request{Journal: NewJournal(&out, time.Now(), false)}}.replaced(t.Context(), cluster, started, before)
		return out.String()
	}
	now := " in " + file + "; commands without -id now use " + started.String() + ". "
	want := "session " + started.String() + " replaces session " + first.String() + now + "To end session " + first.String() + ": bobbin session stop -id " + first.String() + "\n"
	here := owner(cluster)
	if got := told(sessionfile.Session{Application: first, Owner: here}); got != want {
		t.Errorf("one that runs: %q, want %q", got, want)
	}
	for place, owner := range map[string]sessionfile.Owner{
		"elsewhere:1 (user carol)":            {ResourceManagers: "elsewhere:1", User: "carol"},
		"elsewhere:1":                         {ResourceManagers: "elsewhere:1"},
		here.ResourceManagers + " (user bob)": {User: "bob"},
	} {
		want := "session " + started.String() + " replaces session " + forgotten.String() + " on ResourceManager " + place + now +
			"If session " + forgotten.String() + " still runs, end it from there: bobbin session stop -id " + forgotten.String() + "\n"
		if got := told(sessionfile.Session{Application: forgotten, Owner: owner}); got != want {
			t.Errorf("one that this cluster cannot be asked of: %q, want %q", got, want)
		}
	}
	if got := told(sessionfile.Session{}) + told(sessionfile.Session{Application: forgotten, Owner: here}); got != "" {
		t.Errorf("none, and one that YARN has forgotten: %q", got)
	}
	if err := cluster.YARN.Kill(t.Context(), first, "test"); err != nil {
		t.Fatal(err)
	}
	if got := told(sessionfile.Session{Application: first, Owner: here}); got != "" {
		t.Errorf("one that has ended: %q", got)
	}
}
