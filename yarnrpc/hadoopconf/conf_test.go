package hadoopconf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writeConf makes a configuration directory. Values that start with "<?" or "<c" are
// whole documents, others are lists of "name=value" lines.
func writeConf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if !strings.HasPrefix(content, "<") {
			content = document(content)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func document(lines string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for line := range strings.Lines(lines) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			b.WriteString("<property><name>" + name + "</name><value>" + value + "</value></property>\n")
		}
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

func load(t *testing.T, files map[string]string) *Conf {
	t.Helper()
	c, err := Load(writeConf(t, files), Environment{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLaterFilesOverrideEarlierOnesUnlessFinal(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{
		"core-site.xml": `<configuration>
<property><name>a</name><value>core</value></property>
<property><name>b</name><value>core</value><final>true</final></property>
</configuration>`,
		"hdfs-site.xml": "a=hdfs\nb=hdfs",
		"yarn-site.xml": "a=yarn\nb=yarn",
	})
	if got := c.Get("a"); got != "yarn" {
		t.Errorf("a = %q, want that of the last file", got)
	}
	if got := c.Get("b"); got != "core" {
		t.Errorf("b = %q, want the final one", got)
	}
	if got := c.SourceOf("b").String(); !strings.HasSuffix(got, "core-site.xml:3") {
		t.Errorf("source of b = %s, want core-site.xml:3", got)
	}
	if got := c.SourceOf("dfs.replication").String(); got != "default" {
		t.Errorf("source of an unset property = %s", got)
	}
}

// Errors must name the wrong line, also in an included file.
func TestLoadErrorsNameFileAndLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files map[string]string
		want  string // end of the message, after the directory
	}{
		"a tag that is not closed": {
			map[string]string{"core-site.xml": "<configuration>\n<property>\n<name>a</name>\n</configuration>"},
			"core-site.xml:4: element <property> closed by </configuration>",
		},
		"another root": {
			map[string]string{"yarn-site.xml": "<!-- c -->\n<settings/>"},
			"yarn-site.xml:2: root element is <settings>, want <configuration>",
		},
		"an empty file": {
			map[string]string{"core-site.xml": "<!-- nothing -->"},
			"core-site.xml:1: no <configuration> element",
		},
		"a missing include without fallback": {
			map[string]string{"core-site.xml": "<configuration>\n\n<include href='gone.xml'/></configuration>"},
			"core-site.xml:3: xi:include of gone.xml: no such file, and there is no xi:fallback",
		},
		"an error in an included file": {
			map[string]string{
				"core-site.xml": "<configuration><include href='more.xml'/></configuration>",
				"more.xml":      "<configuration>\n&nbsp;</configuration>",
			},
			"more.xml:2: invalid character entity &nbsp;",
		},
		"a file that includes itself": {
			map[string]string{"core-site.xml": "<configuration><include href='core-site.xml'/></configuration>"},
			"core-site.xml:1: xi:include nested deeper than 10: does core-site.xml include itself?",
		},
		"an include from the network": {
			map[string]string{"core-site.xml": "<configuration><include href='http://h/x.xml'/></configuration>"},
			"core-site.xml:1: xi:include of http://h/x.xml: only local files can be included",
		},
		"an unknown encoding": {
			map[string]string{"core-site.xml": "<?xml version='1.0' encoding='EBCDIC'?><configuration/>"},
			"encoding EBCDIC is not supported: save the file as UTF-8",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(writeConf(t, test.files), Environment{})
			if _, ok := errors.AsType[*ParseError](err); !ok {
				t.Fatalf("error is %v, want a *ParseError", err)
			}
			if !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("error is %q,\nwant it to end in %q", err, test.want)
			}
		})
	}
}

func TestFindNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if got, err := Find(env("YARN_CONF_DIR", dir)); err != nil || got != dir {
		t.Errorf("Find = %q, %v; want %s", got, err, dir)
	}
	if got, err := Find(env("YARN_CONF_DIR", "/elsewhere", "HADOOP_CONF_DIR", dir)); err != nil || got != dir {
		t.Errorf("Find = %q, %v; want HADOOP_CONF_DIR first", got, err)
	}
	_, err := Find(env())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "set HADOOP_CONF_DIR") {
		t.Errorf("error without variables is %v", err)
	}
	_, err = Find(env("HADOOP_CONF_DIR", filepath.Join(dir, "none")))
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "HADOOP_CONF_DIR="+dir) {
		t.Errorf("error for a missing directory is %v", err)
	}
	_, err = Load(dir, Environment{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error for a directory without files is %v", err)
	}
}

func TestMalformedValuesAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"yarn-site.xml": `
b=yes
n=12x
d=10 apples
far=99999999999999999d
s=1.5g
huge=9000000000g
`})
	reads := map[string]error{}
	_, reads["b"] = c.Bool("b")
	_, reads["n"] = c.Int("n")
	_, reads["d"] = c.Duration("d", time.Second)
	_, reads["far"] = c.Duration("far", time.Second)
	_, reads["s"] = c.Size("s")
	_, reads["huge"] = c.Size("huge")
	for name, err := range reads {
		var valueError *ValueError
		if !errors.As(err, &valueError) || valueError.Name != name || valueError.Source.Line == 0 {
			t.Errorf("%s: error is %v, want a *ValueError with its line", name, err)
		}
	}
}

func TestUnsetValuesAreZeroAndDefaultsAreHadoops(t *testing.T) {
	t.Parallel()
	var c Conf
	if b, err := c.Bool("none"); b || err != nil {
		t.Errorf("Bool = %v, %v", b, err)
	}
	if n, err := c.Int("none"); n != 0 || err != nil {
		t.Errorf("Int = %v, %v", n, err)
	}
	if d, err := c.Duration("yarn.resourcemanager.connect.max-wait.ms", time.Millisecond); d != 15*time.Minute || err != nil {
		t.Errorf("Duration = %v, %v", d, err)
	}
	if list, err := c.Strings("none"); list != nil || err != nil {
		t.Errorf("Strings = %q, %v", list, err)
	}
	if got := c.Get("hadoop.tmp.dir"); got != "/tmp/hadoop-${user.name}" {
		t.Errorf("hadoop.tmp.dir = %q", got)
	}
}

func TestStringsDropsEmptyParts(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"core-site.xml": "list=, a,,b ,"})
	got, err := c.Strings("list")
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" || err != nil {
		t.Errorf("Strings (-want +got), %v:\n%s", err, diff)
	}
}

func TestWithOverridesFinalProperties(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"core-site.xml": "<configuration><property><name>a</name><value>1</value><final>true</final></property></configuration>"})
	d := c.With("-D", map[string]string{"a": "2", "fs.default.name": "hdfs://x:1"})
	if got := []string{c.Get("a"), d.Get("a"), d.Get("fs.defaultFS"), d.SourceOf("a").String()}; !cmp.Equal(got, []string{"1", "2", "hdfs://x:1", "-D"}) {
		t.Errorf("got %q", got)
	}
}

// The containers see the client's values, whatever their own environment holds.
func TestMarshalCarriesEffectiveValuesWithoutSecrets(t *testing.T) {
	t.Parallel()
	dir := writeConf(t, map[string]string{
		"core-site.xml": "fs.defaultFS=hdfs://${env.NN}:8020\nfs.s3a.secret.key=hidden\nfs.s3a.encryption.key=hidden\nzk-dt-secret-manager.keystore.password=hidden\nsecret-manager.key-length=128\ndfs.replication=3\nmarkup=a &amp; ${b} &lt;\ndfs.user.home.dir.prefix=${env.PREFIX-}",
	})
	c, err := Load(dir, Environment{LookupEnv: func(name string) (string, bool) { return "nn1", name == "NN" }})
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	// dfs.replication has Hadoop's default; the NameNode's default may differ.
	if diff := cmp.Diff([]string{"dfs.replication", "dfs.user.home.dir.prefix", "fs.defaultFS", "markup", "secret-manager.key-length"}, d.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := d.SourceOf("dfs.replication"); got == (Source{}) {
		t.Error("dfs.replication is not known to be set")
	}
	if got := d.Get("fs.defaultFS"); got != "hdfs://nn1:8020" {
		t.Errorf("fs.defaultFS = %q", got)
	}
	if got := []string{c.Get("dfs.user.home.dir.prefix"), d.Get("dfs.user.home.dir.prefix")}; !slices.Equal(got, []string{"", ""}) {
		t.Errorf("dfs.user.home.dir.prefix = %q, want that it stays empty", got)
	}
	if got := d.Get("markup"); got != "a & ${b} <" {
		t.Errorf("markup = %q", got)
	}
	if got := d.SourceOf("fs.defaultFS"); got != c.SourceOf("fs.defaultFS") {
		t.Errorf("source = %s, want that of the first process", got)
	}
	again, err := d.Marshal()
	if diff := cmp.Diff(string(data), string(again)); diff != "" || err != nil {
		t.Errorf("second Marshal (-first +second), %v:\n%s", err, diff)
	}
}

func TestParseRefusesIncludes(t *testing.T) {
	t.Parallel()
	if _, err := Parse([]byte("<configuration><include href='/etc/passwd'/></configuration>")); err == nil {
		t.Error("a carried configuration could read local files")
	}
}
