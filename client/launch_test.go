package client

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// local is a cluster with the name of an HDFS, and without servers.
func local(t *testing.T) *Cluster {
	t.Helper()
	return secured(t, map[string]string{"hadoop.security.authentication": "simple"}, creds.New())
}

// TestTheEndCancelsNoTokensOfAnotherLauncher would catch that YARN, at the end of an application, cancels the
// tokens of its launcher, which the other jobs of the launcher need; and that the own tokens of the application
// stay alive.
func TestTheEndCancelsNoTokensOfAnotherLauncher(t *testing.T) {
	handed := creds.New()
	handed.Tokens["home"] = token(creds.KindHDFSDelegation, "home:8020")
	named := map[string]string{"hadoop.security.token.service.use_ip": "false"}
	open := map[string]string{"hadoop.security.authentication": "simple"}
	for _, c := range []struct {
		name  string
		conf  map[string]string
		found *creds.Credentials
		keeps bool
	}{
		{"none were handed on", open, creds.New(), false},
		{"they were handed on", named, handed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := secured(t, c.conf, c.found).grant(t.Context(), proofOf(options(t), "hdfs://home:8020/user/alice"))
			if err != nil {
				t.Fatal(err)
			}
			known := facts{id: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, grant: got}
			s := new(plan).submissionContext(known, records.ContainerLaunchContext{})
			if s.KeepTokens != c.keeps || s.ID != known.id {
				t.Errorf("%s is submitted, which keeps its tokens: %t, want %t", s.ID, s.KeepTokens, c.keeps)
			}
		})
	}
}

// TestTheMasterIsStartedByItsHash would catch an ApplicationMaster that runs any file from HDFS, and one that
// cannot start because its file is the one on HDFS that an option names, whose hash the client does not know.
func TestTheMasterIsStartedByItsHash(t *testing.T) {
	own := program.Program{SHA256: "b0"}
	for option, want := range map[string]string{
		"": "b0", "yarn.flink-dist-jar=/opt/bobbin": "b0", "yarn.flink-dist-jar=hdfs:///opt/bobbin": "", "yarn.provided.lib.dirs=hdfs:///lib": "b0",
	} {
		d := Deployment{Mode: launch.Session, Config: options(t), Bobbin: Executable{Program: own}}
		if option != "" {
			d.Config = options(t, option)
		}
		_, d.Bobbin.URI = distribution(d.Config)
		p, err := local(t).plan(d)
		if err != nil {
			t.Fatal(err)
		}
		made, err := p.launchContext(staged{bobbin: launch.Resource{URI: "hdfs://nn/bobbin"}}, facts{grant: grant{credentials: creds.New()}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{launch.Command("appmaster", want, "jobmanager")}, made.Commands); diff != "" {
			t.Errorf("%s: commands (-want +got):\n%s", option, diff)
		}
	}
}

// TestSubmissionContext would catch an option of Flink that YARN does not get, or gets in another unit.
func TestSubmissionContext(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	priority := records.Priority(3)
	base := records.SubmissionContext{
		ID: id, Name: "words", Queue: "default", Type: applicationType, MaxAttempts: 2, FailuresValidity: 10 * time.Minute, KeepContainers: true,
		Resource: records.Resource{MemoryMB: 512, VCores: 1},
	}
	for _, c := range []struct {
		name    string
		options []string
		change  func(*records.SubmissionContext)
	}{
		{"nothing is asked for", nil, func(*records.SubmissionContext) {}},
		{"attempts", []string{"yarn.application-attempts=3", "yarn.application-attempt-failures-validity-interval=10000"}, func(s *records.SubmissionContext) {
			s.MaxAttempts, s.FailuresValidity = 3, 10*time.Second
		}},
		{"no high availability", []string{"high-availability.type=NONE"}, func(s *records.SubmissionContext) {
			s.MaxAttempts, s.FailuresValidity, s.KeepContainers = 1, 0, false
		}},
		{"who it is", []string{"yarn.application.name=n", "yarn.application.type=T", "yarn.tags=One, two,"}, func(s *records.SubmissionContext) {
			s.Name, s.Type, s.Tags = "n", "T", []string{"one", "two"}
		}},
		{"where it goes", []string{"yarn.application.queue=q", "yarn.application.priority=3", "yarn.application.node-label=gpu"}, func(s *records.SubmissionContext) {
			s.Queue, s.Priority, s.NodeLabel = "q", &priority, "gpu"
		}},
		{"its end and its logs", []string{"yarn.application.lifetime=90", "yarn.rolled-logs.include-pattern=job.*", "yarn.rolled-logs.exclude-pattern=.*gz"}, func(s *records.SubmissionContext) {
			s.Lifetime, s.Logs = 90*time.Second, records.LogAggregation{RolledInclude: "job.*", RolledExclude: ".*gz"}
		}},
		{"its master", []string{"yarn.appmaster.vcores=2", "jobmanager.memory.process.size=1g"}, func(s *records.SubmissionContext) {
			s.Resource = records.Resource{MemoryMB: 1024, VCores: 2}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := base
			c.change(&want)
			p, err := local(t).plan(Deployment{Name: "words", Config: options(t, c.options...)})
			if err != nil {
				t.Fatal(err)
			}
			got := p.submissionContext(facts{id: id}, records.ContainerLaunchContext{})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("submission differs (-want +got):\n%s", diff)
			}
		})
	}
}
