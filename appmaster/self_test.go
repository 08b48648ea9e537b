package appmaster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestTheApplicationMasterShowsItself would catch a profile that nobody takes, one that keeps the process from its end, and one
// for whose time nothing else is shown.
func TestTheApplicationMasterShowsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := t.TempDir()
		if err := os.WriteFile(filepath.Join(logs, "jobmanager.log"), []byte("line 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := newSelf(inquiry.New("jobmanager", logs, filepath.Join(logs, "profiles")))
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.serve(ctx); close(ended) }() // ends with ctx
		p := processes{nil, s.inquire}
		ask := func(about msg.Inquiry) msg.InquiryAnswer {
			t.Helper()
			a, err := p.Inquire(t.Context(), "", "", about)
			if err != nil {
				t.Error(err)
			}
			return a
		}
		if a := ask(msg.Inquiry{Topic: msg.AboutLog, File: "jobmanager.log"}); string(a.Content) != "line 1\n" {
			t.Errorf("the log: %+v", a)
		}
		take := func(d time.Duration) {
			ask(msg.Inquiry{Topic: msg.AboutNewProfile, Profile: msg.ProfileRequest{Mode: msg.ProfileLock, Duration: d, Keep: 2}})
			synctest.Wait()
		}
		state := func() msg.ProfileState { return ask(msg.Inquiry{Topic: msg.AboutProfiles}).Profiles[0].State }
		take(time.Minute)
		if got := state(); got != msg.ProfileRunning {
			t.Errorf("the profile is %s", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := state(); got != msg.ProfileFinished {
			t.Errorf("the profile is %s after its time", got)
		}
		take(time.Hour)
		heap := msg.Inquiry{Topic: msg.AboutFlames, Profile: msg.ProfileRequest{Mode: msg.ProfileAlloc, Duration: time.Minute}}
		ask(heap)
		synctest.Wait()
		if a := ask(heap); len(a.Content) == 0 {
			t.Error("a flame graph of the heap waits for a profile of an hour")
		}
		end()
		<-ended
		if got := state(); got != msg.ProfileFailed {
			t.Errorf("the profile is %s at the end of the process", got)
		}
		if _, err := p.Inquire(t.Context(), "", "h1", msg.Inquiry{Topic: msg.AboutGoroutines}); !errors.Is(err, msg.ErrNotShown) {
			t.Errorf("its task host: %v", err)
		}
		if _, err := (processes{}).Inquire(t.Context(), "", "", msg.Inquiry{Topic: msg.AboutLogs}); !errors.Is(err, msg.ErrNotShown) {
			t.Errorf("a master in a user's process: %v", err)
		}
	})
}

// TestADiskThatHangsEndsAQuestion would catch a question that waits for ever for a disk, and keeps others from theirs.
func TestADiskThatHangsEndsAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk, hangs, desk := make(chan struct{}), 0, inquiry.New("jobmanager", "", "")
		s := newSelf(desk)
		s.ask = func(ctx context.Context, about msg.Inquiry) (msg.InquiryAnswer, func(context.Context)) {
			if about.Topic.ReadsDisk() {
				hangs++
				<-disk
				hangs--
			}
			return desk.Answer(ctx, about)
		}
		began := time.Now()
		if _, err := s.inquire(t.Context(), msg.Inquiry{Topic: msg.AboutLogs}); !errors.Is(err, msg.ErrNotReady) || time.Since(began) != selfTime {
			t.Errorf("the logs, after %s: %v", time.Since(began), err)
		}
		if a, err := s.inquire(t.Context(), msg.Inquiry{Topic: msg.AboutGoroutines}); err != nil || len(a.Content) == 0 {
			t.Errorf("the stacks: %v", err)
		}
		close(disk)
		synctest.Wait()
		if hangs != 0 {
			t.Errorf("%d goroutines wait for the disk", hangs)
		}
	})
}
