package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestContradictionsAreRefusedBeforeAnythingRuns would catch options that are refused only in a container:
// after minutes of planning, and after all uploads.
func TestContradictionsAreRefusedBeforeAnythingRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("job", fmt.Appendf(nil, "#!/bin/sh\n# <bobbin sdk protocol version=%d>\ntouch ran\n", jobgraph.ProtocolVersion), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ line, says string }{
		"here":              {"run -t local -D heartbeat.timeout=5s ./job", "option heartbeat.interval: 10 s (default) is not less than heartbeat.timeout, 5s (-D), lower heartbeat.interval or raise heartbeat.timeout"},
		"on a cluster":      {"run -t yarn-per-job -D heartbeat.timeout=5s ./job", "heartbeat.timeout, 5s (-D)"},
		"in a session":      {"run -t yarn-session -D heartbeat.timeout=5s ./job", "heartbeat.timeout, 5s (-D)"},
		"on its own driver": {"run -t yarn-application -D heartbeat.timeout=5s ./job", "heartbeat.timeout, 5s (-D)"},
		"a value alone":     {"run -t yarn-session -D slot.request.timeout=0 ./job", "-D: option slot.request.timeout: 0 is out of range, want more than 0"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, nil, strings.Fields(c.line)...)
			if code == ExitOK || stdout != "" || !strings.HasPrefix(stderr, "bobbin: ") || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q; want one line with %q", code, stdout, stderr, c.says)
			}
			if _, err := os.Stat("ran"); err == nil {
				t.Error("the program was started")
			}
		})
	}
}

// TestADirectoryOfNowhereIsToldByItsVariable would catch an error with the name of a file that the user has
// never written.
func TestADirectoryOfNowhereIsToldByItsVariable(t *testing.T) {
	dir := t.TempDir()
	for variable, file := range map[string]string{"BOBBIN_CONF_DIR": "bobbin.yaml", "FLINK_CONF_DIR": "flink-conf.yaml"} {
		for _, words := range [][]string{{"list"}, {"run", "./job"}, {"doctor"}} {
			code, stdout, stderr := command(t, map[string]string{variable: dir}, words...)
			said := stdout + stderr // doctor's findings
			const remedy = "set it to the directory that holds the options, or unset it"
			if !strings.Contains(said, variable+"="+dir+": ") || !strings.Contains(said, filepath.Join(dir, file)) || strings.Count(said, remedy) != 1 {
				t.Errorf("%s: %v says %q", variable, words, said)
			}
			if code != ExitUsage || words[0] == "doctor" && !strings.Contains(said, "-> "+remedy+"\n") {
				t.Errorf("%s: %v: exit code %d, says %q", variable, words, code, said)
			}
		}
	}
}

// TestDoctorChecksOptionsTogether would catch a doctor that finds no fault although jobs are refused for their
// options, and a finding about several faults.
func TestDoctorChecksOptionsTogether(t *testing.T) {
	for _, c := range []struct {
		definitions []string
		says        []string
	}{
		{
			[]string{"heartbeat.timeout=5s", "cluster.registration.max-timeout=50 ms"},
			[]string{
				"option heartbeat.interval: 10 s (default) is not less than heartbeat.timeout, 5s (-D)", "-> lower heartbeat.interval or raise heartbeat.timeout",
				"option cluster.registration.initial-timeout: 100 ms (default) is more than cluster.registration.max-timeout, 50 ms (-D)", "-> lower cluster.registration.initial-timeout or raise",
			},
		},
		{
			[]string{"heartbeat.interval=0", "foo=bar", "queue=small", "hartbeat.timeout=1"},
			[]string{
				"-D: option heartbeat.interval: 0 is out of range", "-> want more than 0",
				"-D: unknown option foo", "-> docs/OPTIONS.md lists all options\n",
				"-D: unknown option queue", "the nearest is yarn.application.queue\n",
				"-D: unknown option hartbeat.timeout", "-> did you mean heartbeat.timeout?",
			},
		},
	} {
		words := []string{"doctor"}
		for _, definition := range c.definitions {
			words = append(words, "-D", definition)
		}
		code, stdout, stderr := command(t, nil, words...)
		if code != ExitUsage || stderr != "" {
			t.Errorf("%v: exit code %d, stderr %q", c.definitions, code, stderr)
		}
		for _, want := range c.says {
			if !strings.Contains(stdout, want) {
				t.Errorf("%v: %q is not in\n%s", c.definitions, want, stdout)
			}
		}
	}
}

// TestDeprecatedOptionsAreTold would catch a user who never learns that an option has a successor, and a
// line for an option that only has its default.
func TestDeprecatedOptionsAreTold(t *testing.T) {
	for _, c := range []struct {
		values map[string]string
		says   string
	}{
		{map[string]string{"cluster.evenly-spread-out-slots": "true"}, "-D: option cluster.evenly-spread-out-slots is deprecated: set taskmanager.load-balance.mode: SLOTS\n"},
		{map[string]string{"cluster.evenly-spread-out-slots": "false"}, "-D: option cluster.evenly-spread-out-slots is deprecated: set taskmanager.load-balance.mode: NONE\n"},
		{map[string]string{"cluster.evenly-spread-out-slots": "true", "logging.level": "error"}, ""},
		{map[string]string{"taskmanager.load-balance.mode": "SLOTS"}, ""},
	} {
		var errs bytes.Buffer
		if _, err := process(t, nil, nil, io.Discard, &errs).call(nil).options(config.Layer{Source: "-D", Values: c.values}); err != nil || errs.String() != c.says {
			t.Errorf("%v: %v, stderr %q, want %q", c.values, err, errs.String(), c.says)
		}
	}
}
