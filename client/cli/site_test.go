package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

// TestAClusterIsReachedWithoutYARN would catch a command that asks a YARN that is not available, one that
// connects to another address than that of -m, and access without the file.
func TestAClusterIsReachedWithoutYARN(t *testing.T) {
	s := startFakeSession(t)
	path := filepath.Join(t.TempDir(), "nightly.access")
	if err := client.WriteAccess(path, s.access); err != nil {
		t.Fatal(err)
	}
	tunnel := s.access
	tunnel.Address = "127.0.0.1:1"
	other := path + ".other"
	if err := client.WriteAccess(other, tunnel); err != nil {
		t.Fatal(err)
	}
	stale := s.access
	stale.Token = "of another ApplicationMaster"
	expired := path + ".expired"
	if err := client.WriteAccess(expired, stale); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, line, stdout, stderr string }{
		{"by the file", "status -D rest.access-file=" + path, "application    " + s.id.String() + "\n", ""},
		{"by its address, too", "status -m " + s.access.Address + " -D rest.access-file=" + other, "application    " + s.id.String() + "\n", ""},
		{"for scripts", "status -o json -D rest.access-file=" + path, `"jobsRunning":2`, ""},
		{"its jobs", "list -r -t remote -D rest.access-file=" + path, string(runningJob), ""},
		{"to cancel one", "cancel -D rest.access-file=" + path + " " + string(runningJob), "is being cancelled", ""},
		{"by its address alone", "status -m " + s.access.Address, "", "or name an access file (rest.access-file); bobbin session access writes one on a machine with YARN\n"},
		{"by the target and its address", "status -t remote -m " + s.access.Address, "", "or name an access file (rest.access-file); bobbin session access writes one on a machine with YARN\n"},
		{"by the target and its address, to run", "run -t remote -m " + s.access.Address + " ./job", "", "or name an access file (rest.access-file); bobbin session access writes one on a machine with YARN\n"},
		{"by what Flink's old scripts have for an address", "status -m yarn-cluster -t remote -D rest.access-file=" + path, "application    " + s.id.String() + "\n", ""},
		{"by the target alone", "status -t remote", "", "usage: -t remote needs an access file (rest.access-file)"},
		{"to attend it", "session attach -D rest.access-file=" + path, "", "its YARN is not available on this machine"},
		{"by the address that an earlier ApplicationMaster had", "list -D rest.access-file=" + other, "", "if YARN has replaced the ApplicationMaster, write " + other + " again (bobbin session access)\n"},
		{"by the token that an earlier ApplicationMaster had", "list -D rest.access-file=" + expired, "", "if YARN has replaced the ApplicationMaster, write " + expired + " again (bobbin session access)\n"},
		{"by a file that is none", "status -D rest.access-file=" + path + ".none", "", "read access file " + path + ".none: no such file or directory\n"},
	} {
		code, stdout, stderr := command(t, nil, strings.Fields(c.line)...)
		if !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || (code == ExitOK) != (c.stderr == "") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.name, code, stdout, stderr)
		}
	}
	if diff := cmp.Diff([]string{"cancel " + string(runningJob)}, s.did); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	want := `{"application":"` + s.id.String() + `","state":"ENDING"}` + "\n" // no command has asked YARN
	if code, stdout, stderr := command(t, nil, "session", "stop", "-o", "json", "-D", "rest.access-file="+path); code != ExitOK || stdout != want {
		t.Errorf("to end it: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if err := os.WriteFile(other, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, stderr := command(t, nil, "status", "-D", "rest.access-file="+other); !strings.Contains(stderr, other+" is not an access file (access.json)") {
		t.Errorf("by another file: %q", stderr)
	}
}

// TestAccessIsForItsUserAlone would catch a secret that others can read, and a file that is overwritten.
func TestAccessIsForItsUserAlone(t *testing.T) {
	s := startFakeSession(t)
	path := filepath.Join(t.TempDir(), "nightly.access")
	if err := client.WriteAccess(path, s.access); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	got, err := client.ReadAccess(path)
	if diff := cmp.Diff(s.access, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := client.WriteAccess(path, s.access); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is written over: %v", err)
	}
	// Everyone who can read the file has the rights of the session's owner, and everyone who can write it gets
	// the user's jobs.
	for _, mode := range []fs.FileMode{0o644, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := client.ReadAccess(path); !errors.Is(err, secretfile.ErrExposed) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %#o: %v, want ErrExposed with the remedy", mode, err)
		}
	}
}
