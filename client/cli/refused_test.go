package cli

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// hadoopFiles makes a directory of configuration files.
func hadoopFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBadHadoopConfigurationIsNamed would catch an error without file and line, and one without a remedy.
func TestBadHadoopConfigurationIsNamed(t *testing.T) {
	malformed := hadoopFiles(t, map[string]string{
		"core-site.xml": "<configuration/>\n", "yarn-site.xml": "<configuration>\n <property>\n  <name>a</name>\n </configuration>\n",
	})
	site := filepath.Join(malformed, "yarn-site.xml")
	for name, c := range map[string]struct {
		dir  string
		says []string
	}{
		"a missing one":   {malformed + "/none", []string{"HADOOP_CONF_DIR=" + malformed + "/none", "no such file or directory; set it to the directory that holds"}},
		"an empty one":    {t.TempDir(), []string{"no core-site.xml", "set HADOOP_CONF_DIR"}},
		"a file":          {site, []string{site, "not a directory"}},
		"a malformed one": {malformed, []string{site + ":4:", "<property>"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, map[string]string{"HADOOP_CONF_DIR": c.dir}, "run", "-t", "yarn-per-job", "./job")
			if code != ExitFailed || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("want one line, got exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, want := range c.says {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in %q", want, stderr)
				}
			}
		})
	}
}

// executable is a file with a program's header and content.
func executable(t *testing.T, machine elf.Machine, content string) string {
	t.Helper()
	head := make([]byte, program.HeadSize)
	copy(head, elf.ELFMAG)
	head[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	binary.LittleEndian.PutUint16(head[program.HeadSize-2:], uint16(machine))
	path := filepath.Join(t.TempDir(), "job")
	if err := os.WriteFile(path, slices.Concat(head, []byte(content)), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// mark is the mark of the SDK.
func mark(version int) string { return fmt.Sprintf("<bobbin sdk protocol version=%d>", version) }

// TestBadProgramsAreRefusedBeforeTheClusterIsAsked would catch a program that is uploaded or run although its
// file shows that the cluster cannot run it. In this test no server answers.
func TestBadProgramsAreRefusedBeforeTheClusterIsAsked(t *testing.T) {
	env := map[string]string{"HADOOP_USER_NAME": "alice", "HADOOP_CONF_DIR": hadoopFiles(t, map[string]string{
		"core-site.xml": "<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property></configuration>",
		"yarn-site.xml": "<configuration><property><name>yarn.resourcemanager.address</name><value>127.0.0.1:1</value></property></configuration>",
	})}
	for name, c := range map[string]struct{ program, says string }{
		"without the SDK":      {executable(t, program.Native(), ""), ": not built with the Bobbin SDK: its main must call bobbin.Main"},
		"for another platform": {executable(t, elf.EM_S390, mark(jobgraph.ProtocolVersion)), ", and the cluster runs " + runtime.GOARCH + "; build it with GOARCH=" + runtime.GOARCH},
		"of another protocol version": {
			executable(t, program.Native(), mark(jobgraph.ProtocolVersion+1)),
			fmt.Sprintf(": built with another protocol version: the program has %d, this bobbin has %d; build both from the same release",
				jobgraph.ProtocolVersion+1, jobgraph.ProtocolVersion),
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, env, "run", "-t", "yarn-per-job", c.program)
			if code != ExitFailed || stdout != "" || !strings.HasPrefix(stderr, "bobbin: program "+c.program+": ") || !strings.HasSuffix(stderr, c.says+"\n") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := command(t, env, "run", "-t", "yarn-per-job", script)
	if diff := cmp.Diff("bobbin: program "+script+": not a program: it is a text file; a program is one executable file, which go build makes from a main that calls bobbin.Main\n", stderr); diff != "" {
		t.Errorf("a script (-want +got):\n%s", diff)
	}
}
