package taskexecutor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAWorkerShowsItself would catch a question that the shell loses, a profile during which the worker answers
// nothing, one that outlives the worker, and a host that cannot be asked.
func TestAWorkerShowsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := t.TempDir()
		if err := os.WriteFile(filepath.Join(logs, "taskmanager.log"), []byte("line 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		hosts := goroutineHosts{behave: func(c *control.Conn, _ <-chan struct{}) string { return obey(c, func(msg.StartHost) {}) }}
		c := startCluster(t, hosts, func(_ *Config, env *Environment) { env.Desk = inquiry.New("w1", logs, filepath.Join(logs, "profiles")) })
		rm, _ := c.register()
		host := next[msg.HostReady](t, c.jm.in).Host
		ask := func(m msg.Inquire) msg.InquiryAnswer {
			t.Helper()
			rm.Send(m)
			answer := next[msg.Inquired](t, c.rm.in)
			if answer.Number != m.Number {
				t.Errorf("question %d has the answer to %d", m.Number, answer.Number)
			}
			return answer.Answer
		}
		request := msg.ProfileRequest{Mode: msg.ProfileLock, Duration: time.Hour, Keep: 1}
		if a := ask(msg.Inquire{Number: 1, Inquiry: msg.Inquiry{Topic: msg.AboutNewProfile, Profile: request}}); a.Err() != nil || len(a.Profiles) != 1 {
			t.Errorf("a profile: %+v", a)
		}
		if a := ask(msg.Inquire{Number: 2, Inquiry: msg.Inquiry{Topic: msg.AboutLog, File: "taskmanager.log"}}); string(a.Content) != "line 1\n" {
			t.Errorf("the log: %+v", a)
		}
		if a := ask(msg.Inquire{Number: 3, Inquiry: msg.Inquiry{Topic: msg.AboutHosts}}); len(a.Hosts) != 1 || a.Hosts[0].Host != host {
			t.Errorf("the hosts: %+v", a)
		}
		began := time.Now()
		about := msg.Inquire{Number: 4, Host: host, Inquiry: msg.Inquiry{Topic: msg.AboutGoroutines}}
		if a := ask(about); !errors.Is(a.Err(), msg.ErrWorkerSilent) || time.Since(began) > 10*time.Second { // this host answers no questions
			t.Errorf("a silent host, after %s: %+v", time.Since(began), a)
		}
		c.stop(nil)
		<-c.result
		if err := c.local.Close(); err != nil {
			t.Error(err)
		}
		if time.Since(began) > time.Minute {
			t.Errorf("it ends after %s, with its profile", time.Since(began))
		}
	})
}

// TestAWorkerInAUsersProcessShowsNothing would catch a worker that reads the files of the user's folder, or that does
// not answer.
func TestAWorkerInAUsersProcessShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, goroutineHosts{behave: obedient}, nil)
		rm := c.admit()
		rm.Send(msg.Inquire{Number: 1, Inquiry: msg.Inquiry{Topic: msg.AboutLogs}})
		if a := next[msg.Inquired](t, c.rm.in); !errors.Is(a.Answer.Err(), msg.ErrNotShown) {
			t.Errorf("it shows %+v", a)
		}
		c.stop(nil)
		<-c.result
		if err := c.local.Close(); err != nil {
			t.Error(err)
		}
	})
}
