package cli

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// TestTheHistoryServerHasACertificate would catch a history server that needs the certificate of the site a second time, or
// takes it although it has one of its own, or serves plain HTTP although TLS is asked for.
func TestTheHistoryServerHasACertificate(t *testing.T) {
	t.Parallel()
	authority := sitecerttest.NewAuthority(t)
	site, siteKey := authority.Write(t, "*.cluster.example")
	own, ownKey := authority.Write(t, "history.example")
	for name, test := range map[string]struct {
		options map[string]string
		name    string // of the certificate
		want    error
	}{
		"that of the site": {map[string]string{"security.ssl.rest.certificate": site, "security.ssl.rest.key": siteKey}, "*.cluster.example", nil},
		"its own": {map[string]string{
			"security.ssl.rest.certificate": site, "security.ssl.rest.key": siteKey, "historyserver.web.ssl.certificate": own, "historyserver.web.ssl.key": ownKey,
		}, "history.example", nil},
		"none":          {nil, "", config.ErrInvalid},
		"half of one":   {map[string]string{"security.ssl.rest.certificate": site, "security.ssl.rest.key": siteKey, "historyserver.web.ssl.certificate": own}, "", config.ErrInvalid},
		"one of others": {map[string]string{"historyserver.web.ssl.certificate": own, "historyserver.web.ssl.key": siteKey}, "", sitecert.ErrUnusable},
	} {
		cfg, err := config.New(
			config.Layer{Source: "-D", Values: map[string]string{"historyserver.archive.fs.dir": "hdfs:///history", "historyserver.web.ssl.enabled": "true"}},
			config.Layer{Source: "-D", Values: test.options})
		if err != nil {
			t.Fatal(err)
		}
		h, err := historyOf(cfg, logServer{})
		if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (h.Certificate == nil || h.Certificate.Names()[0] != test.name) {
			t.Errorf("%s: the server has %v", name, h.Certificate)
		}
		if err != nil {
			continue
		}
		if again, err := h.Renew(); err != nil || !again.Equal(h.Certificate) {
			t.Errorf("%s: read again it is %v, error %v", name, again, err)
		}
	}
}

// TestTheHistoryServerLeadsToYARNsLogServer would catch a page without links to logs on a cluster whose configuration says where
// they are, and one that leads elsewhere than its option says.
func TestTheHistoryServerLeadsToYARNsLogServer(t *testing.T) {
	t.Parallel()
	const server, log = "http://history:19888/ws/v1/history", "/containerlogs/<tmid>/taskmanager.log"
	for _, c := range []struct{ option, rest, pages, want string }{
		{"", server, "", server + log},
		{"", server + "/", "http://other:19888/jobhistory/logs", server + log},
		{"https://logs/<tmid>", server, "", "https://logs/<tmid>"},
		{"", "", "http://history:19888/jobhistory/logs", server + log},
		{"", "", "https://timeline:8190/applicationhistory/logs/", "https://timeline:8190/ws/v1/applicationhistory" + log},
		{"", "", "https://site/logs", ""},
		{"", "", "", ""},
	} {
		cfg, err := config.New(config.Layer{Source: "-D", Values: map[string]string{"historyserver.archive.fs.dir": "hdfs:///history", "historyserver.log.taskmanager.url-pattern": c.option}})
		if err != nil {
			t.Fatal(err)
		}
		conf, err := hadoopconf.Parse([]byte("<configuration><property><name>yarn.log.server.web-service.url</name><value>" + c.rest +
			"</value></property><property><name>yarn.log.server.url</name><value>" + c.pages + "</value></property></configuration>"))
		if err != nil {
			t.Fatal(err)
		}
		if h, err := historyOf(cfg, logServerOf(conf)); err != nil || h.WorkerLog != c.want || h.LogPages != c.pages {
			t.Errorf("%+v: workers at %q, pages %q, %v", c, h.WorkerLog, h.LogPages, err)
		}
	}
}
