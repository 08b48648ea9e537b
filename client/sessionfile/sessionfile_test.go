package sessionfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func session(options map[string]string) Session {
	return Session{Application: records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 7}, Options: options}
}

// TestWhatIsWrittenIsRead would catch an option whose value in a later command differs from that of the
// session.
func TestWhatIsWrittenIsRead(t *testing.T) {
	for name, options := range map[string]map[string]string{
		"none": {},
		"several": {
			"yarn.staging-directory": "hdfs://nn:8020/tmp/a b", "parallelism.default": "4",
			"containerized.master.env.X": " =:#!\\ \t\n\r\f tail ", "empty": "",
		},
		"beyond ASCII": {"a": "größe 🧵"},
	} {
		t.Run(name, func(t *testing.T) {
			path := Path(t.TempDir(), "alice")
			for _, s := range []Session{session(map[string]string{"old": "1"}), session(options)} {
				if err := Write(path, s); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Read(path)
			if diff := cmp.Diff(session(options), got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil || len(entries) != 1 {
				t.Errorf("beside the file there are %v, %v", entries, err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("others may read it: %v, %v", info, err)
			}
		})
	}
}

// TestASessionBelongsToACluster would catch a job that goes to an application of another cluster with the same
// id, and a refusal of a session whose cluster is not known.
func TestASessionBelongsToACluster(t *testing.T) {
	path := Path(t.TempDir(), "alice")
	owner := Owner{ResourceManagers: "rm1:8032,rm2:8032", User: "alice"}
	written := session(nil)
	written.Owner = owner
	if err := Write(path, written); err != nil {
		t.Fatal(err)
	}
	s, err := Read(path)
	if err != nil || s.Owner != owner {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, c := range map[string]struct {
		session Session
		asks    Owner
		says    string // "": nothing
	}{
		"its own":                   {s, owner, ""},
		"another cluster":           {s, Owner{"rm3:8032", "alice"}, "on ResourceManager rm1:8032,rm2:8032, but HADOOP_CONF_DIR names rm3:8032"},
		"another user":              {s, Owner{owner.ResourceManagers, "bob"}, "belongs to user alice, but this command runs as user bob"},
		"a file that does not tell": {session(nil), owner, ""},
	} {
		err := c.session.Of(c.asks)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrElsewhere) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPropertiesAreReadAsJavaDoes would catch a file from Java or a person that is read differently than by
// Java.
func TestPropertiesAreReadAsJavaDoes(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"#Sat Nov 21 10:00:00 UTC 2026\ndynamicPropertiesString=a\\=b@@c\\=d\\:e\napplicationID=application_1_0002\n": {
			"dynamicPropertiesString": "a=b@@c=d:e", "applicationID": "application_1_0002",
		},
		"  a : b\r\nc\td\n! no\n\ne":                 {"a": "b", "c": "d", "e": ""},
		"long = one\\\n   two\\\n three\\\\\nnext=1": {"long": `onetwothree\`, "next": "1"},
		`k\ e\=y = \u00e9\u0041\u12 \q\`:             {"k e=y": "éAu12 q"},
		"twice=1\ntwice=2":                           {"twice": "2"},
		"emoji=\\uD83E\\uDDF5":                       {"emoji": "🧵"},
		"latin=caf\xe9":                              {"latin": "café"}, // no escape on the line
	} {
		if diff := cmp.Diff(want, parseProperties(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestWhatIsNoSessionIsNamed would catch an error that does not name the file to delete, and a job that goes to
// the session of an attacker.
func TestWhatIsNoSessionIsNamed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "an id that is none": "applicationID=17\n", "an option that is none": "applicationID=application_1_0002\ndynamicPropertiesString=x\n",
		"too much": "applicationID=application_1_0002\n#" + strings.Repeat("x", maxFile),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); !errors.Is(err, errInvalid) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "delete it") {
			t.Errorf("%s: %v", name, err)
		}
		if err := Remove(path, session(nil).Application); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: a file is removed that is not ours: %v", name, err)
		}
	}
	good := filepath.Join(dir, "good")
	if err := Write(good, session(nil)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir} {
		if _, err := Read(path); !errors.Is(err, errInvalid) {
			t.Errorf("%s is read: %v", path, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root can change the owner of a file
	}
	if err := os.Chown(good, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(good); !errors.Is(err, errInvalid) {
		t.Errorf("a stranger's file is read: %v", err)
	}
}

// TestOnlyTheSessionsOwnFileIsRemoved would catch that the end of one session removes the file of another.
func TestOnlyTheSessionsOwnFileIsRemoved(t *testing.T) {
	path := Path(t.TempDir(), "alice")
	ours := session(nil)
	if err := Remove(path, ours.Application); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	if err := Write(path, ours); err != nil {
		t.Fatal(err)
	}
	if err := Remove(path, records.ApplicationID{ClusterTimestamp: 1, ID: 1}); err != nil {
		t.Error(err)
	}
	if _, err := Read(path); err != nil {
		t.Errorf("another session's: %v", err)
	}
	if err := Remove(path, ours.Application); err != nil {
		t.Error(err)
	}
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestOptionsThatDoNotFitAreRefused would catch an option that is read as two, or with another text.
func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	path := Path(t.TempDir(), "alice")
	for _, value := range []string{"a@@b=c", "@", "x@", "caf\xe9"} {
		if err := Write(path, session(map[string]string{"k": value})); err == nil || !strings.Contains(err.Error(), "option k") {
			t.Errorf("%q: %v", value, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is written: %v", err)
	}
}

// FuzzParse would catch a file that crashes the command.
func FuzzParse(f *testing.F) {
	f.Add("applicationID=application_1700000000000_0007\ndynamicPropertiesString=a\\=b@@c\\=\\u00e9\n")
	f.Add("a\\\n\\")
	f.Add("applicationID=application_1_0002\nresourceManagers=rm1\\:8032,rm2\\:8032\nhadoopUser=alice\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parse(text)
		if err != nil || Check(s.Options) != nil {
			return
		}
		again, err := parse(format(s))
		if diff := cmp.Diff(s, again); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}
