package records

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Texts of Hadoop 3.4. With a wrong width or a lost epoch, no server, log directory or
// proxy path would match the ids.
func TestIdsHaveHadoopsTexts(t *testing.T) {
	app := ApplicationID{ClusterTimestamp: 1410901177871, ID: 1}
	attempt := ApplicationAttemptID{Application: app, Attempt: 2}
	for _, tc := range []struct {
		name string
		id   interface{ String() string }
		want string
	}{
		{"application", app, "application_1410901177871_0001"},
		{"application with a long number", ApplicationID{1410901177871, 123456}, "application_1410901177871_123456"},
		{"attempt", attempt, "appattempt_1410901177871_0001_000002"},
		{"container", ContainerID{attempt, 3}, "container_1410901177871_0001_02_000003"},
		{"container with a long number", ContainerID{attempt, 1234567}, "container_1410901177871_0001_02_1234567"},
		{"container after a restart of the ResourceManager", ContainerID{attempt, 17<<40 | 5}, "container_e17_1410901177871_0001_02_000005"},
		{"container of a short epoch", ContainerID{attempt, 1<<40 | 5}, "container_e01_1410901177871_0001_02_000005"},
		{"reservation", ReservationID{1410901177871, 8}, "reservation_1410901177871_0008"},
		{"node attribute", NodeAttributeKey{AttributeDistributed, "os"}, "nm.yarn.io/os"},
		{"node", NodeID{"127.0.0.2", 8041}, "127.0.0.2:8041"},
		{"resource", Resource{MemoryMB: 1024, VCores: 2}, "<memory:1024, vCores:2>"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.id.String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestParsedIdsPrintTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		app := ApplicationID{
			ClusterTimestamp: rapid.Int64Min(0).Draw(t, "timestamp"),
			ID:               rapid.Int32Min(0).Draw(t, "application"),
		}
		attempt := ApplicationAttemptID{app, rapid.Int32Min(0).Draw(t, "attempt")}
		container := ContainerID{attempt, rapid.Int64Min(0).Draw(t, "container")}
		if got, err := ParseApplicationID(app.String()); err != nil || got != app {
			t.Errorf("application %v became %v, %v", app, got, err)
		}
		if got, err := ParseApplicationAttemptID(attempt.String()); err != nil || got != attempt {
			t.Errorf("attempt %v became %v, %v", attempt, got, err)
		}
		reservation := ReservationID{app.ClusterTimestamp, container.ID}
		if got, err := ParseReservationID(reservation.String()); err != nil || got != reservation {
			t.Errorf("reservation %v became %v, %v", reservation, got, err)
		}
		if got, err := ParseContainerID(container.String()); err != nil || got != container {
			t.Errorf("container %v became %v, %v", container, got, err)
		}
	})
}

func TestMalformedIdsAreErrors(t *testing.T) {
	parsers := map[string]func(string) error{
		"application": func(s string) error { _, err := ParseApplicationID(s); return err },
		"attempt":     func(s string) error { _, err := ParseApplicationAttemptID(s); return err },
		"container":   func(s string) error { _, err := ParseContainerID(s); return err },
		"node":        func(s string) error { _, err := ParseNodeID(s); return err },
		"reservation": func(s string) error { _, err := ParseReservationID(s); return err },
		"attribute":   func(s string) error { _, err := ParseNodeAttributeKey(s); return err },
	}
	for kind, texts := range map[string][]string{
		"application": {
			"", "application", "application_", "application_1", "application_1_", "application_1_2_", "application_1_2_3",
			"application_1_-2", "application_+1_2", "application_1_2147483648", "application_a_1", "app_1_1", "application__1",
			"application_9223372036854775808_1", " application_1_1", "appattempt_1_1",
		},
		"attempt":     {"appattempt_1_1", "appattempt_1_1_1_1", "application_1_1_1"},
		"container":   {"container_1_1_1", "container_e_1_1_1_1", "container_1_1_1_1099511627776", "container_e8388608_1_1_1_1", "container_e1_1_1_1"},
		"reservation": {"", "reservation_1", "reservation_1_", "reservation_1_2_3", "reservation_1_-2", "application_1_2"},
		"attribute":   {"", "/", "/os", "rm.yarn.io/", "rm.yarn.io/a/b"},
		"node":        {"", "host", ":1", "host:", "host:65536", "host:-1", "host:x"},
	} {
		for _, text := range texts {
			if err := parsers[kind](text); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s %q: got %v, want ErrMalformed", kind, text, err)
			}
		}
	}
}

func FuzzParseContainerID(f *testing.F) {
	f.Add("container_e17_1410901177871_0001_02_000005")
	f.Add("container_1_1_1_1")
	f.Add("container_e0_1_1_1_1")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseContainerID(s)
		if err != nil {
			return
		}
		if again, err := ParseContainerID(id.String()); err != nil || again != id {
			t.Errorf("%q is %v, which reads as %v, %v", s, id, again, err)
		}
	})
}

func TestIdsAreTextsAndKeysInJSON(t *testing.T) {
	type state struct {
		App   ApplicationID
		Nodes map[NodeID]ContainerID
		Disks map[NodeAttributeKey]ReservationID
	}
	want := state{
		App:   ApplicationID{1, 2},
		Nodes: map[NodeID]ContainerID{{"h", 1}: {ApplicationAttemptID{ApplicationID{1, 2}, 3}, 4}},
		Disks: map[NodeAttributeKey]ReservationID{{"rm.yarn.io", "disk"}: {1, 2}},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"App":"application_1_0002","Nodes":{"h:1":"container_1_0002_03_000004"},"Disks":{"rm.yarn.io/disk":"reservation_1_0002"}}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	var got state
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIdsSortByAge(t *testing.T) {
	older := ContainerID{ApplicationAttemptID{ApplicationID{1, 9}, 1}, 5}
	for name, younger := range map[string]ContainerID{
		"later container":          {older.Attempt, 6},
		"later attempt":            {ApplicationAttemptID{older.Attempt.Application, 2}, 1},
		"later application":        {ApplicationAttemptID{ApplicationID{1, 10}, 1}, 1},
		"later restart of cluster": {ApplicationAttemptID{ApplicationID{2, 1}, 1}, 1},
	} {
		same := older
		if older.Compare(younger) >= 0 || younger.Compare(older) <= 0 || older.Compare(same) != 0 {
			t.Errorf("%s: %v is not after %v", name, younger, older)
		}
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]URL{
		"hdfs://namenode:8020/user/a/x.txt": {Scheme: "hdfs", Host: "namenode", Port: 8020, Path: "/user/a/x.txt"},
		"hdfs://nameservice/user/a b%20c":   {Scheme: "hdfs", Host: "nameservice", Port: -1, Path: "/user/a b%20c"},
		"hdfs://nameservice/50%/job#2?://x": {Scheme: "hdfs", Host: "nameservice", Port: -1, Path: "/50%/job#2?://x"},
		"file:///tmp/x":                     {Scheme: "file", Port: -1, Path: "/tmp/x"},
		"hdfs://[fe80::1]:8020/x":           {Scheme: "hdfs", Host: "fe80::1", Port: 8020, Path: "/x"},
		"viewfs://me@cluster/x":             {Scheme: "viewfs", UserInfo: "me", Host: "cluster", Port: -1, Path: "/x"},
	} {
		got, err := ParseURL(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
		if again := got.String(); again != text {
			t.Errorf("%s became %s", text, again)
		}
	}
	for _, text := range []string{"", "/path", "hdfs://h", "hdfs:rel", "hdfs://h:99999/x", "hdfs://h?q/x", "hdfs://h#f/x", "hdfs://h:p/x", "a b://h/x", "0/:///", ":", "hdfs://::/x", "hdfs://[fe80::1%25eth0]/x"} {
		if got, err := ParseURL(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %+v, %v, want ErrMalformed", text, got, err)
		}
	}
}

func TestExitStatusesExplainThemselves(t *testing.T) {
	for status, want := range map[ExitStatus][2]string{
		ExitSuccess:                {"SUCCESS", "the process ended without error"},
		3:                          {"3", "the process exited with code 3"},
		ExitForceKilled:            {"137", "the process was killed (SIGKILL); the kernel does this if the node is out of memory"},
		ExitExceededPhysicalMemory: {"KILLED_EXCEEDED_PMEM", "killed for using more memory than it asked for"},
	} {
		if got := [2]string{status.String(), status.Reason()}; got != want {
			t.Errorf("%d: got %q, want %q", int(status), got, want)
		}
	}
	if ExitPreempted.Countable() || !ExitExceededPhysicalMemory.Countable() {
		t.Error("preemption counts, or memory overuse does not")
	}
}
