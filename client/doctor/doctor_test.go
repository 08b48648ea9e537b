package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is the machine in which a test creates faults.
type machine struct {
	t          *testing.T
	env        map[string]string
	properties map[string]string // properties of the only Hadoop file
	options    map[string]string // Bobbin's options
	hosts      map[string]string // what DNS knows: addresses of names, and names of addresses
	silent     bool              // DNS does not answer
	patient    Patient
}

// newMachine is a machine whose cluster has no server.
func newMachine(t *testing.T) *machine {
	return &machine{
		t: t, env: map[string]string{"HADOOP_USER_NAME": "alice"}, options: map[string]string{}, hosts: map[string]string{},
		properties: map[string]string{"fs.defaultFS": "hdfs://127.0.0.1:1", "yarn.resourcemanager.address": "127.0.0.1:1"},
		patient:    Patient{Now: time.Now},
	}
}

// kerberized makes the cluster secure. kdc is the address of the realm's KDC. The user has a ticket from MIT's
// kinit.
func (m *machine) kerberized(kdc string) {
	m.properties["hadoop.security.authentication"] = "kerberos"
	m.env["KRB5_CONFIG"] = m.file("krb5.conf", fmt.Sprintf("[libdefaults]\ndefault_realm = EXAMPLE.TEST\n[realms]\nEXAMPLE.TEST = {\nkdc = %s\n}\n", kdc))
	m.ticket("alice.ccache")
	m.patient.Now = func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) } // the ticket is valid then
}

// mit is the path of a cache or keytab that MIT's programs wrote.
const mit = "../../yarnrpc/kerberos/testdata/mit/"

// ticket gives the machine's user a cache that MIT's kinit has written. Only that user can read it.
func (m *machine) ticket(name string) {
	content, err := os.ReadFile(mit + name)
	if err != nil {
		m.t.Fatal(err)
	}
	m.env["KRB5CCNAME"] = m.file(name, string(content))
}

// keytab makes the user log in by a keytab.
func (m *machine) keytab(path, principal string) {
	m.options["security.kerberos.login.keytab"], m.options["security.kerberos.login.principal"] = path, principal
}

func (m *machine) file(name, content string) string {
	m.t.Helper()
	path := filepath.Join(m.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return path
}

func (m *machine) LookupHost(_ context.Context, host string) ([]string, error) {
	if m.silent {
		return nil, &net.DNSError{Name: host, Err: "i/o timeout", IsTimeout: true}
	}
	if address, known := m.hosts[host]; known {
		return []string{address}, nil
	}
	return nil, &net.DNSError{Name: host, IsNotFound: true}
}

func (m *machine) LookupAddr(_ context.Context, address string) ([]string, error) {
	if name, known := m.hosts[address]; known {
		return []string{name + "."}, nil
	}
	return nil, &net.DNSError{Name: address, IsNotFound: true}
}

// examine returns the results by name. Each finding must be one line, and each fault must have a remedy of one
// line.
func (m *machine) examine() map[string]Result {
	m.t.Helper()
	if _, set := m.env["HADOOP_CONF_DIR"]; !set {
		var site strings.Builder
		for _, name := range slices.Sorted(maps.Keys(m.properties)) {
			fmt.Fprintf(&site, "<property><name>%s</name><value>%s</value></property>\n", name, m.properties[name])
		}
		m.env["HADOOP_CONF_DIR"] = filepath.Dir(m.file("core-site.xml", "<configuration>\n"+site.String()+"</configuration>"))
	}
	m.patient.Getenv = func(name string) string { return m.env[name] }
	m.patient.Resolver = m
	if m.patient.Options == nil {
		m.patient.Options = func() (config.Config, error) { return config.New(config.Layer{Source: "-D", Values: m.options}) }
	}
	results := make(map[string]Result)
	for r := range Examine(m.t.Context(), m.patient) {
		results[r.Name] = r
		if len(r.Findings) == 0 {
			m.t.Errorf("%s has found nothing", r.Name)
		}
		for _, f := range r.Findings {
			ill := f.Status == Failed || f.Status == Warning
			if f.Text == "" || strings.Contains(f.Text+f.Remedy, "\n") || (f.Remedy != "") != ill {
				m.t.Errorf("%s: not one line and, where something is wrong, one remedy: %+v", r.Name, f)
			}
		}
	}
	if len(results) != len(checks()) {
		m.t.Errorf("%d results of %d checks", len(results), len(checks()))
	}
	return results
}

// wants checks that a check has this status, and a finding of this status with both texts.
func (m *machine) wants(results map[string]Result, check string, status Status, text, remedy string) {
	m.t.Helper()
	r := results[check]
	has := slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Status == status && strings.Contains(f.Text, text) && strings.Contains(f.Remedy, remedy)
	})
	if r.Status != status || !has {
		m.t.Errorf("%s is %s: %+v\nwant %s, %q -> %q", check, r.Status, r.Findings, status, text, remedy)
	}
}

// TestEachIllnessIsFound has in each row a fault that the doctor finds without a server. It would catch a check
// that does nothing, and a remedy for another fault.
func TestEachIllnessIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil        func(*machine)
		check        string
		status       Status
		text, remedy string
	}{
		"an option of bobbin's that is none": {
			func(m *machine) { m.options["taskmanager.slots"] = "1" },
			"options", Failed, "-D: unknown option taskmanager.slots", "did you mean taskmanager.",
		},
		"options that contradict each other": {
			func(m *machine) {
				m.options["slotmanager.number-of-slots.max"], m.options["taskmanager.numberOfTaskSlots"] = "2", "3"
			},
			"options", Failed, "option taskmanager.numberOfTaskSlots: 3 (-D) is more than slotmanager.number-of-slots.max, 2 (-D)", "lower taskmanager.numberOfTaskSlots or raise",
		},
		"a value that does not parse": {
			func(m *machine) { m.options["heartbeat.timeout"] = "soon" },
			"options", Failed, `-D: option heartbeat.timeout: "soon" is not a duration`, "docs/OPTIONS.md",
		},
		"too small a master": {
			func(m *machine) { m.options["jobmanager.memory.process.size"] = "32m" },
			"options", Failed, "too small for the ApplicationMaster: 32 MB: set jobmanager.memory.process.size to 64m or more", "ask for more memory",
		},
		"too small a worker, beside such a master": {
			func(m *machine) {
				m.options["jobmanager.memory.process.size"] = "32m"
				m.options["taskmanager.memory.process.size"], m.options["taskmanager.numberOfTaskSlots"] = "200m", "4"
			},
			"options", Failed, "TaskExecutor (-tm, -s): 200 MB for 4 slots, want taskmanager.memory.process.size of", "ask for more memory",
		},
		"a certificate without its key": {
			func(m *machine) { m.options["security.ssl.rest.certificate"] = "site.pem" },
			"options", Failed, "option security.ssl.rest.certificate: site.pem: security.ssl.rest.key is not set", "name the files of both",
		},
		"a certificate that is not there": {
			func(m *machine) {
				m.options["security.ssl.rest.certificate"], m.options["security.ssl.rest.key"] = "/nowhere/site.pem", "/nowhere/site.key"
			},
			"options", Failed, "/nowhere/site.pem: no such file", "correct security.ssl.rest.certificate",
		},
		"a certificate whose key all users can read": {
			func(m *machine) {
				certificate, key := sitecerttest.NewAuthority(m.t).Write(m.t, "*.cluster.example")
				if err := os.Chmod(key, 0o644); err != nil {
					m.t.Fatal(err)
				}
				m.options["security.ssl.rest.certificate"], m.options["security.ssl.rest.key"] = certificate, key
			},
			"options", Warning, "others can read or write the key of the site's certificate: its mode is 0644", "chmod 600 ",
		},
		"no configuration": {
			func(m *machine) { m.env["HADOOP_CONF_DIR"] = "" },
			"hadoop", Failed, "neither HADOOP_CONF_DIR nor YARN_CONF_DIR", "set HADOOP_CONF_DIR",
		},
		"a directory that is not there": {
			func(m *machine) { m.env["HADOOP_CONF_DIR"], m.env["YARN_CONF_DIR"] = "", "/nowhere" },
			"hadoop", Failed, "YARN_CONF_DIR is /nowhere", "set HADOOP_CONF_DIR",
		},
		"a directory with nothing in it": {
			func(m *machine) { m.env["HADOOP_CONF_DIR"] = m.t.TempDir() },
			"hadoop", Failed, "core-site.xml", "fetch core-site.xml",
		},
		"a file that is no XML": {
			func(m *machine) {
				m.env["HADOOP_CONF_DIR"] = filepath.Dir(m.file("yarn-site.xml", "<configuration>\n<property>\n</configuration>"))
			},
			"hadoop", Failed, "yarn-site.xml:3", "correct the file",
		},
		"a value that is none": {
			func(m *machine) { m.properties["hadoop.rpc.protection"] = "secret" },
			"hadoop", Failed, "secret", "correct the value",
		},
		"nothing says where YARN is": {
			func(m *machine) { delete(m.properties, "yarn.resourcemanager.address") },
			"hadoop", Warning, "0.0.0.0:8032", "set yarn.resourcemanager.hostname",
		},
		"two ResourceManagers without names": {
			func(m *machine) { m.properties["yarn.resourcemanager.ha.enabled"] = "true" },
			"hadoop", Failed, "yarn.resourcemanager.ha.rm-ids", "yarn-site.xml",
		},
		"no krb5.conf": {
			func(m *machine) { m.kerberized("127.0.0.1:1"); m.env["KRB5_CONFIG"] = "/nowhere/krb5.conf" },
			"krb5", Failed, "there is no /nowhere/krb5.conf", "KRB5_CONFIG",
		},
		"a krb5.conf that cannot be read": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.env["KRB5_CONFIG"] = m.file("krb5.conf", "[libdefaults]\nclockskew = soon\n")
			},
			"krb5", Failed, "krb5.conf:2", "correct the file",
		},
		"a krb5.conf that includes what is not there": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.env["KRB5_CONFIG"] = m.file("krb5.conf", "include /nowhere/more.conf\n")
			},
			"krb5", Failed, "krb5.conf:1", "correct the file",
		},
		"no default realm": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.env["KRB5_CONFIG"] = m.file("krb5.conf", "[libdefaults]\n")
			},
			"krb5", Warning, "no default realm", "default_realm",
		},
		"no ticket": {
			func(m *machine) { m.kerberized("127.0.0.1:1"); m.env["KRB5CCNAME"] = "/nowhere/cache" },
			"credentials", Failed, "there is no ticket in /nowhere/cache", "run kinit",
		},
		"tickets in the kernel": {
			func(m *machine) { m.kerberized("127.0.0.1:1"); m.env["KRB5CCNAME"] = "KEYRING:persistent:0" },
			"credentials", Failed, "KEYRING:persistent:0 (KRB5CCNAME)", "set KRB5CCNAME=FILE:/tmp/krb5cc_",
		},
		"a cache that is none": {
			func(m *machine) { m.kerberized("127.0.0.1:1"); m.env["KRB5CCNAME"] = m.file("cache", "ticket") },
			"credentials", Failed, "not a credential cache", "run kinit",
		},
		"a ticket that has expired": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.patient.Now = func() time.Time { return time.Date(2029, 5, 9, 15, 10, 54, 0, time.UTC) }
			},
			"credentials", Failed, "alice.ccache expired 2h0m ago", "run kinit alice@EXAMPLE.TEST",
		},
		"a ticket of tomorrow": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.patient.Now = func() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) }
			},
			"credentials", Failed, "is not valid before", "clock",
		},
		"a ticket of a KDC whose clock is a little ahead": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				cache, err := kerberos.ReadCache(m.env["KRB5CCNAME"])
				if err != nil {
					m.t.Fatal(err)
				}
				m.patient.Now = func() time.Time { return cache.TGT.Start.Add(-time.Minute) }
			},
			"credentials", OK, "has a ticket of alice@EXAMPLE.TEST", "",
		},
		"a ticket that will not last": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.ticket("v3.ccache") // cannot be renewed
				m.patient.Now = func() time.Time { return time.Date(2026, 11, 22, 13, 0, 0, 0, time.UTC) }
			},
			"credentials", Warning, "for 11m", "run kinit alice@EXAMPLE.TEST",
		},
		"a user of no rule": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.properties["hadoop.security.auth_to_local"] = "RULE:[1:$1@$0](.*@OTHER.TEST)s/@.*//"
			},
			"credentials", Failed, "no rule of hadoop.security.auth_to_local applies", "of the servers' core-site.xml",
		},
		"no keytab": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.keytab("/nowhere/keytab", "alice")
			},
			"credentials", Failed, "/nowhere/keytab", "--keytab",
		},
		"a keytab of whom": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.options["security.kerberos.login.keytab"] = mit + "sha2.keytab"
			},
			"credentials", Failed, "no principal is named for keytab ", "its principals with --principal: alice@EXAMPLE.TEST",
		},
		"whose keytab": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.options["security.kerberos.login.principal"] = "alice"
			},
			"credentials", Failed, "name the keytab that holds its key", "docs/OPTIONS.md",
		},
		"a krb5.conf by option": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.options["security.kerberos.krb5-conf.path"] = "/nowhere/k.conf"
			},
			"krb5", Failed, "there is no /nowhere/k.conf", "security.kerberos.krb5-conf.path",
		},
		"a keytab of others": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.keytab(mit+"sha2.keytab", "bob")
			},
			"credentials", Failed, "bob@EXAMPLE.TEST", "its principals with --principal: alice@EXAMPLE.TEST",
		},
		"a keytab that all can read": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				keytab, err := os.ReadFile(mit + "sha2.keytab")
				if err != nil {
					m.t.Fatal(err)
				}
				path := m.file("keytab", string(keytab))
				m.keytab(path, "alice")
				if err := os.Chmod(path, 0o644); err != nil {
					m.t.Fatal(err)
				}
			},
			"credentials", Warning, "0644", "chmod 600 ",
		},
		"a KDC that is away": {
			func(m *machine) { m.kerberized("127.0.0.1:1") },
			"kdc", Failed, "127.0.0.1:1 of EXAMPLE.TEST does not answer: connect: connection refused", "firewall",
		},
		"a realm without KDCs": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.env["KRB5_CONFIG"] = m.file("krb5.conf", "[libdefaults]\ndefault_realm = EXAMPLE.TEST\ndns_lookup_kdc = false\n")
			},
			"kdc", Failed, "realm EXAMPLE.TEST: krb5.conf has no kdc for it, and dns_lookup_kdc is false", "_kerberos._tcp.example.test",
		},
		"a realm that nothing names": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.env["KRB5_CONFIG"], m.env["KRB5CCNAME"] = m.file("krb5.conf", "[libdefaults]\n"), "/nowhere/cache"
			},
			"kdc", Skipped, "neither the credentials nor krb5.conf name a realm", "",
		},
		"DNS that does not answer": {
			func(m *machine) {
				m.properties["yarn.resourcemanager.address"] = "rm.example.test:8032"
				m.silent = true
			},
			"names", Failed, "rm.example.test cannot be looked up (yarn.resourcemanager.address, core-site.xml:3): lookup rm.example.test: i/o timeout", "/etc/resolv.conf",
		},
		"a host that nobody knows": {
			func(m *machine) { m.properties["yarn.resourcemanager.address"] = "rm.example.test:8032" },
			"names", Failed, "no address is known for rm.example.test (yarn.resourcemanager.address, core-site.xml:3)", "/etc/hosts",
		},
		"a principal by an address": {
			func(m *machine) {
				m.kerberized("127.0.0.1:1")
				m.properties["yarn.resourcemanager.principal"] = "rm/_HOST@EXAMPLE.TEST"
			},
			"names", Warning, "expects the principal rm/127.0.0.1@EXAMPLE.TEST", "host name",
		},
		"a ResourceManager that is down": {
			func(*machine) {},
			"resourcemanager", Failed, "127.0.0.1:1 (yarn.resourcemanager.address, core-site.xml:3) does not work: connect: connection refused", "correct its address",
		},
		"both ResourceManagers down": {
			func(m *machine) {
				maps.Copy(m.properties, map[string]string{
					"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
					"yarn.resourcemanager.hostname.a": "127.0.0.1", "yarn.resourcemanager.hostname.b": "127.0.0.1",
					"yarn.resourcemanager.address.a": "127.0.0.1:1", "yarn.resourcemanager.address.b": "127.0.0.1:2",
					"yarn.resourcemanager.admin.address.a": "127.0.0.1:1", "yarn.resourcemanager.admin.address.b": "127.0.0.1:2",
				})
			},
			"resourcemanager", Failed, "no ResourceManager is active", "yarn rmadmin -getAllServiceState",
		},
		"a NameNode that is down": {
			func(*machine) {},
			"namenode", Failed, "127.0.0.1:1 (fs.defaultFS, core-site.xml:2) does not work: connect: connection refused", "correct its address",
		},
		"files on this machine": {
			func(m *machine) { delete(m.properties, "fs.defaultFS") },
			"namenode", Failed, "fs.defaultFS is file:///", "yarn.staging-directory",
		},
		"files in a cloud": {
			func(m *machine) { m.properties["fs.defaultFS"] = "s3a://bucket" },
			"namenode", Failed, `scheme "s3a"`, "fs.defaultFS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			tc.spoil(m)
			m.wants(m.examine(), tc.check, tc.status, tc.text, tc.remedy)
		})
	}
}

// The doctor skips what it cannot know after a failed check, and does not call that a failure.
func TestChecksThatNeedAFailedOneAreSkipped(t *testing.T) {
	m := newMachine(t)
	m.kerberized("127.0.0.1:1")
	var begun []string
	m.patient.Begins = func(title string) { begun = append(begun, title) }
	got := m.examine()
	if slices.Contains(begun, "Kerberos login") || !slices.Contains(begun, "KDCs and clocks") {
		t.Errorf("begun are %q", begun)
	}
	for name, want := range map[string]Status{
		"options": OK, "hadoop": OK, "krb5": OK, "credentials": OK, "kdc": Failed, "login": Skipped, "names": OK,
		"resourcemanager": Skipped, "namenode": Skipped, "queue": Skipped, "staging": Skipped, "tokens": Skipped,
	} {
		if got[name].Status != want {
			t.Errorf("%s is %s, want %s: %+v", name, got[name].Status, want, got[name].Findings)
		}
	}
	m.wants(got, "queue", Skipped, `the check "KDCs and clocks" has failed`, "")
	if Worst(slices.Collect(maps.Values(got))) != Failed {
		t.Error("the whole has not failed")
	}
}

// A host is correct by its name, by the name of its address, and on an open cluster by either.
func TestNamesThatAreInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		hosts  map[string]string
		secure bool
		text   string
	}{
		"an open cluster needs no way back": {map[string]string{"rm": "10.0.0.1"}, false, "rm is 10.0.0.1"},
		"there and back":                    {map[string]string{"rm": "10.0.0.1", "10.0.0.1": "RM"}, true, "rm is 10.0.0.1, and the address is that name"},
		"back to the longer name":           {map[string]string{"rm": "10.0.0.1", "10.0.0.1": "rm.example.test"}, true, "whose name is rm.example.test"},
		"no way back":                       {map[string]string{"rm": "10.0.0.1"}, true, "expects the principal rm/rm@EXAMPLE.TEST"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if tc.secure {
				m.kerberized("127.0.0.1:1")
				m.properties["yarn.resourcemanager.principal"] = "rm/_HOST@EXAMPLE.TEST"
			}
			v := &visit{Patient: Patient{Resolver: m}}
			m.hosts = tc.hosts
			v.conf = new(hadoopconf.Conf).With("test", m.properties)
			f := v.checkName(t.Context(), "rm", named{"rm:1", "yarn.resourcemanager.address", v.conf.Get("yarn.resourcemanager.principal")})
			if f.Status != OK || !strings.Contains(f.Text, tc.text) {
				t.Errorf("got %+v, want %q", f, tc.text)
			}
		})
	}
}

// faked is a machine with a YARN cluster that works.
func faked(t *testing.T, c yarnfake.Config) (*machine, *yarnfake.Fake) {
	t.Helper()
	fake, err := yarnfake.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	m := newMachine(t)
	for _, name := range fake.Conf().Names() {
		m.properties[name] = fake.Conf().Get(name)
	}
	return m, fake
}

func TestALivelyYARN(t *testing.T) {
	m, _ := faked(t, yarnfake.Config{Nodes: 3})
	got := m.examine()
	m.wants(got, "resourcemanager", OK, "answers: no login, no protection", "")
	m.wants(got, "queue", OK, "queue root.default is RUNNING, and user alice may submit", "")
	m.wants(got, "queue", OK, "active NodeManagers: 3", "")
	m.wants(got, "queue", OK, "up to 8192 MB and 8 vcores", "")
}

func TestWhatYARNWouldRefuseIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster      yarnfake.Config
		options      map[string]string
		text, remedy string
	}{
		"a queue that is not there": {
			yarnfake.Config{}, map[string]string{"yarn.application.queue": "root.nowhere"}, `"root.nowhere" does not exist`, "-qu",
		},
		"too large a worker": {
			yarnfake.Config{Node: records.Resource{MemoryMB: 1024, VCores: 4}},
			map[string]string{"taskmanager.memory.process.size": "2g"},
			"TaskExecutor asks for 2048 MB, YARN's largest container has 1024 MB", "lower it (-tm",
		},
		"too many slots": {
			yarnfake.Config{Node: records.Resource{MemoryMB: 4096, VCores: 1}},
			map[string]string{"taskmanager.numberOfTaskSlots": "2"},
			"TaskExecutor asks for 2 vcores", "lower it (-s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := faked(t, tc.cluster)
			m.options = tc.options
			m.wants(m.examine(), "queue", Failed, tc.text, tc.remedy)
		})
	}
}

// TestUberIsExplained would catch a doctor that is silent about small jobs in one container, whose memory counts as an
// ApplicationMaster's, and about options that prevent it.
func TestUberIsExplained(t *testing.T) {
	m, _ := faked(t, yarnfake.Config{Node: records.Resource{MemoryMB: 2048, VCores: 4}})
	m.options = map[string]string{"yarn.application.uber": "auto"}
	m.wants(m.examine(), "queue", OK, "one container of 1536 MB and 1 vcores", "")
	m.options["taskmanager.memory.process.size"] = "2g"
	m.wants(m.examine(), "queue", Warning, "both take 2560 MB", "set yarn.application.uber to never")
}

// TestAttemptsAreExplained would catch a doctor that promises a second ApplicationMaster where YARN starts none, and one
// that warns of an option that its user has set.
func TestAttemptsAreExplained(t *testing.T) {
	const attempts, most, kind = "yarn.application-attempts", "yarn.resourcemanager.am.max-attempts", "high-availability.type"
	for name, tc := range map[string]struct {
		options, properties map[string]string
		status              Status
		text, remedy        string
	}{
		"the defaults":              {nil, nil, OK, "YARN starts it up to 2 times, and failures older than 10 min do not count", ""},
		"all failures count":        {map[string]string{"yarn.application-attempt-failures-validity-interval": "-1"}, nil, OK, "up to 2 times", ""},
		"YARN starts one":           {nil, map[string]string{most: "1"}, Warning, "no second ApplicationMaster, because " + most + " is 1", "raise " + most},
		"one is wanted":             {map[string]string{attempts: "1"}, map[string]string{most: "1"}, OK, "no second ApplicationMaster (yarn.application-attempts: 1)", ""},
		"no high availability":      {map[string]string{kind: "none"}, nil, OK, "ends with its ApplicationMaster (high-availability.type: none)", ""},
		"attempts without it":       {map[string]string{kind: "NONE", attempts: "2"}, nil, OK, "each time without the jobs of the last one", ""},
		"a limit that is no number": {nil, map[string]string{most: "two"}, Failed, most, "correct it"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := faked(t, yarnfake.Config{})
			maps.Copy(m.options, tc.options)
			maps.Copy(m.properties, tc.properties)
			m.wants(m.examine(), "queue", tc.status, tc.text, tc.remedy)
		})
	}
}

func TestAClusterWithoutNodes(t *testing.T) {
	m, fake := faked(t, yarnfake.Config{})
	fake.LoseNode(fake.Nodes()[0])
	m.wants(m.examine(), "queue", Failed, "no NodeManager is active", "yarn node -list")
}

// The doctor must tell the port of another service from a server with a fault.
func TestAWebServerInPlaceOfTheResourceManager(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	m := newMachine(t)
	m.properties["yarn.resourcemanager.address"] = server.Listener.Addr().String()
	m.wants(m.examine(), "resourcemanager", Failed, "the peer speaks HTTP", "the server's RPC port")
}

// TestOneOfAPairMayBeDown would catch a failure about a pair that works.
func TestOneOfAPairMayBeDown(t *testing.T) {
	m, fake := faked(t, yarnfake.Config{})
	maps.Copy(m.properties, map[string]string{
		"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
		"yarn.resourcemanager.hostname.a": "127.0.0.1", "yarn.resourcemanager.address.a": "127.0.0.1:1", "yarn.resourcemanager.admin.address.a": "127.0.0.1:1",
		"yarn.resourcemanager.hostname.b": "127.0.0.1", "yarn.resourcemanager.address.b": fake.Conf().Get("yarn.resourcemanager.address"),
	})
	got := m.examine()
	m.wants(got, "resourcemanager", Warning, "a, 127.0.0.1:1 (yarn.resourcemanager.address.a, ", "correct its address")
	if f := got["resourcemanager"].Findings; len(f) != 2 || !strings.Contains(f[1].Text, "is active") {
		t.Errorf("found %+v", f)
	}
	m.wants(got, "queue", OK, "root.default", "")
}

// A standby is of no use if the configuration names only that.
func TestAStandbyIsNoNameNodeByItself(t *testing.T) {
	v := &visit{conf: new(hadoopconf.Conf).With("test", map[string]string{"fs.defaultFS": "hdfs://nn2"})}
	standby := answer{name: "nn2:8020", property: "fs.defaultFS", standby: true, err: yarnrpc.ErrStandby}
	alone := v.judge("NameNode", []answer{standby}, "")
	if len(alone) != 1 || alone[0].Status != Failed || !strings.Contains(alone[0].Text, "nn2:8020 (fs.defaultFS, test) is standby") || !strings.Contains(alone[0].Remedy, "nameservice") {
		t.Errorf("by itself: %+v", alone)
	}
	for _, f := range v.judge("NameNode", []answer{standby, {name: "nn1:8020"}}, "") {
		if f.Status != OK {
			t.Errorf("beside an active one: %+v", f)
		}
	}
}

// TestWhatIsSeenOnTheWayIsTold would catch a cluster without a warning that requires logins, but whose keys
// every listener can read.
func TestWhatIsSeenOnTheWayIsTold(t *testing.T) {
	for _, tc := range []struct {
		authentication string
		opened         yarnrpc.Security
		warns          bool
	}{
		{"kerberos", yarnrpc.Security{Method: "KERBEROS", Server: "rm/host@REALM", QOP: sasl.QOPAuthentication}, true},
		{"kerberos", yarnrpc.Security{Method: "TOKEN", QOP: sasl.QOPIntegrity}, true},
		{"kerberos", yarnrpc.Security{Method: "KERBEROS", Server: "rm/host@REALM", QOP: sasl.QOPPrivacy}, false},
		{"simple", yarnrpc.Security{Method: methodSimple, QOP: sasl.QOPAuthentication}, false}, // no user expects it to be safe
	} {
		v := &visit{conf: new(hadoopconf.Conf).With("test", map[string]string{"hadoop.security.authentication": tc.authentication})}
		warned := false
		for _, f := range v.judge("ResourceManager", []answer{{name: "rm:8032", opened: tc.opened}}, "") {
			warned = warned || f.Status == Warning && strings.Contains(f.Text, "rm:8032: the protection is not privacy") && strings.Contains(f.Remedy, "hadoop.rpc.protection")
		}
		if warned != tc.warns {
			t.Errorf("%s, %+v: a warning is given: %t, want %t", tc.authentication, tc.opened, warned, tc.warns)
		}
	}
}

// TestAnExaminationEndsEarly would catch a Ctrl-C that waits for every server that does not answer.
func TestAnExaminationEndsEarly(t *testing.T) {
	m := newMachine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	m.patient.Options = func() (config.Config, error) { cancel(errors.New("Ctrl-C")); return config.Config{}, nil }
	m.patient.Getenv, m.patient.Resolver = os.Getenv, m
	for r := range Examine(ctx, m.patient) {
		t.Errorf("%s was looked at", r.Name)
	}
}
