package inquiry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes a file, and returns its folder.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, d *inquiry.Desk, q msg.Inquiry) msg.InquiryAnswer {
	t.Helper()
	answer, work := d.Answer(t.Context(), q)
	if work != nil {
		t.Fatalf("%s leaves work", q.Topic)
	}
	if err := answer.Check(q.Topic); err != nil {
		t.Errorf("the receiver refuses the answer: %v", err)
	}
	return answer
}

func part(t *testing.T, d *inquiry.Desk, name string, p msg.Part) msg.InquiryAnswer {
	t.Helper()
	return ask(t, d, msg.Inquiry{Topic: msg.AboutLog, File: name, Part: p})
}

// TestOnlyListedFilesAreRead would catch a name that leads out of the folder of logs, a link in it that does,
// a pipe, whose reader would wait for ever, and the environment of the container.
func TestOnlyListedFilesAreRead(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	dir := filepath.Join(above, "logs")
	if err := os.MkdirAll(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, above, "secret", "sesame")
	put(t, dir, "taskmanager.log", "line 1\n")
	put(t, dir, "folder/inner", "x")
	put(t, dir, "no\xfftext", "x")
	put(t, dir, "launch_container.sh", "export PASSWORD=sesame")
	if err := errors.Join(os.Symlink("../secret", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	desk := inquiry.New("w", dir, t.TempDir())
	listed := ask(t, desk, msg.Inquiry{Topic: msg.AboutLogs}).Files
	if len(listed) != 1 || listed[0].Name != "taskmanager.log" || listed[0].Size != 7 || time.Since(listed[0].Modified) > time.Hour {
		t.Errorf("listed: %+v", listed)
	}
	for _, name := range []string{"../secret", "..", ".", "", "link", "pipe", "folder", "folder/inner", `folder\inner`, filepath.Join(above, "secret"), "none", "a\x00b", "launch_container.sh"} {
		if err := part(t, desk, name, msg.Part{}).Err(); !errors.Is(err, msg.ErrNotShown) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := part(t, desk, "taskmanager.log", msg.Part{}); string(got.Content) != "line 1\n" || got.Err() != nil {
		t.Errorf("got %+v", got)
	}
	none := inquiry.New("w", "", "")
	if got := ask(t, none, msg.Inquiry{Topic: msg.AboutLogs}); got.Files != nil || got.Err() != nil {
		t.Errorf("a process without logs lists %+v", got)
	}
	if err := part(t, none, "x", msg.Part{}).Err(); !errors.Is(err, msg.ErrNotShown) {
		t.Error(err)
	}
}

// TestAListIsBounded would catch a list that grows with the files of a user's code, or one that leaves out
// the newest of them.
func TestAListIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const files = 3 * msg.MaxListed
	for i := range files {
		name := fmt.Sprintf("%03d", (i*7)%files)
		put(t, dir, name, "")
		at := time.Unix(1_700_000_000+int64((i*7)%files), 0)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	listed := ask(t, inquiry.New("w", dir, ""), msg.Inquiry{Topic: msg.AboutLogs}).Files
	if len(listed) != msg.MaxListed || listed[0].Name != "400" || listed[len(listed)-1].Name != "599" {
		t.Errorf("%d files, from %+v to %+v", len(listed), listed[0], listed[len(listed)-1])
	}
}

// TestPartsOfALog would catch a part at another place than asked for, one that is longer than a message may
// be, and a reader that loses the rest of a log when it rotates.
func TestPartsOfALog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	desk := inquiry.New("w", dir, "")
	put(t, dir, "log", "0123456789")
	for _, test := range []struct {
		part   msg.Part
		offset int64
		want   string
	}{
		{msg.Part{}, 0, "0123456789"},
		{msg.Part{Offset: 3, Length: 2}, 3, "34"},
		{msg.Part{Offset: 10}, 10, ""},
		{msg.Part{Offset: 11}, 0, "0123456789"},
		{msg.Part{Offset: -4}, 6, "6789"},
		{msg.Part{Offset: -40, Length: 1}, 0, "0"},
		{msg.Part{Offset: 9, Length: -1}, 9, "9"},
	} {
		got := part(t, desk, "log", test.part)
		if string(got.Content) != test.want || got.Offset != test.offset || got.File.Size != 10 || got.File.Name != "log" {
			t.Errorf("%+v: %+v", test.part, got)
		}
	}
	first := part(t, desk, "log", msg.Part{Length: 4})
	if err := os.Rename(filepath.Join(dir, "log"), filepath.Join(dir, "log.1")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "log", "abcdefgh")
	rest := part(t, desk, "log", msg.Part{Offset: 4, ID: first.File.ID})
	if string(rest.Content) != "456789" || rest.File.Name != "log.1" {
		t.Errorf("after a rotation: %+v", rest)
	}
	if err := os.Remove(filepath.Join(dir, "log.1")); err != nil {
		t.Fatal(err)
	}
	if got := part(t, desk, "log", msg.Part{Offset: 4, ID: first.File.ID}); string(got.Content) != "abcdefgh" || got.Offset != 0 {
		t.Errorf("of a file that is gone: %+v", got)
	}
	put(t, dir, "log", strings.Repeat("x", msg.MaxPart+1))
	if got := part(t, desk, "log", msg.Part{Length: 1 << 30}); len(got.Content) != msg.MaxPart {
		t.Errorf("a part of %d bytes", len(got.Content))
	}
}

// TestGoroutinesAreBounded would catch a dump without this goroutine, and one that does not fit into its
// message.
func TestGoroutinesAreBounded(t *testing.T) {
	desk := inquiry.New("w", "", "")
	all := string(ask(t, desk, msg.Inquiry{Topic: msg.AboutGoroutines}).Content)
	if !strings.HasPrefix(all, "goroutine ") || !strings.Contains(all, "TestGoroutinesAreBounded") || strings.Contains(all, "(cut:") {
		t.Errorf("dump: %s", all)
	}
	var waiting sync.WaitGroup
	end := make(chan struct{})
	for range 4000 {
		waiting.Go(func() { <-end })
	}
	all = string(ask(t, desk, msg.Inquiry{Topic: msg.AboutGoroutines}).Content)
	close(end)
	waiting.Wait()
	if !strings.HasSuffix(all, fmt.Sprintf("exceed %d bytes)", msg.MaxGoroutines)) || len(all) < msg.MaxGoroutines/2 {
		t.Errorf("a dump of %d bytes ends with %q", len(all), all[len(all)-200:])
	}
}

// profile asks for a profile.
func profile(ctx context.Context, d *inquiry.Desk, mode msg.ProfileMode, length time.Duration, keep int) (msg.InquiryAnswer, func(context.Context)) {
	return d.Answer(ctx, msg.Inquiry{Topic: msg.AboutNewProfile, Profile: msg.ProfileRequest{Mode: mode, Duration: length, Keep: keep}})
}

// TestProfilesAreTakenOneAtATime would catch a profile that does not take its time, two at a time, one that
// cannot be read afterwards, files that pile up, and an old file that is removed while all questions about profiles wait.
func TestProfilesAreTakenOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "profiles")
		desk := inquiry.New("a/w1", "", dir)
		var names []string
		for _, mode := range []msg.ProfileMode{msg.ProfileAlloc, msg.ProfileLock, msg.ProfileAlloc, msg.ProfileAlloc} {
			begun, work := profile(t.Context(), desk, mode, time.Minute, 2)
			if begun.Err() != nil || begun.Profiles[0].State != msg.ProfileRunning {
				t.Fatalf("begun: %+v", begun)
			}
			if second, none := profile(t.Context(), desk, mode, time.Minute, 2); !errors.Is(second.Err(), msg.ErrProfiling) || none != nil {
				t.Errorf("a second one at the same time: %+v", second)
			}
			if len(names) > 1 { // the process answers other questions meanwhile, also if its disk does not
				if _, err := os.Stat(filepath.Join(dir, names[len(names)-2])); err != nil {
					t.Errorf("the answer has waited for the disk: %v", err)
				}
			}
			start := time.Now()
			work(t.Context())
			if took := time.Since(start); took != time.Minute {
				t.Errorf("it took %v", took)
			}
			last := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfiles}).Profiles[0]
			want := msg.ProfileDetails{
				Mode: mode, Duration: time.Minute, State: msg.ProfileFinished, Triggered: start, Finished: time.Now(), Message: "Profiling Successful",
				File: "w1_" + string(mode) + start.UTC().Format("_2006-01-02_15_04_05") + ".pprof",
			}
			if diff := cmp.Diff(want, last); diff != "" {
				t.Errorf("profile (-want +got):\n%s", diff)
			}
			names = append(names, last.File)
			read := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfile, File: last.File})
			if _, err := gzip.NewReader(bytes.NewReader(read.Content)); err != nil {
				t.Errorf("its file is no profile: %v", err)
			}
		}
		if kept := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfiles}).Profiles; len(kept) != 2 || kept[0].File != names[3] {
			t.Errorf("kept: %+v", kept)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 2 {
			t.Errorf("%d files of profiles are left: %v", len(files), err)
		}
		for _, name := range []string{names[0], "../w1", "", "none"} {
			if err := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfile, File: name}).Err(); !errors.Is(err, msg.ErrNotShown) {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

// TestAProfileThatFails would catch a profile that stays RUNNING for ever after its process was told to end,
// or whose folder cannot be written, and one that leaves a file behind.
func TestAProfileThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		desk := inquiry.New("w1", "", dir)
		_, work := profile(t.Context(), desk, msg.ProfileAlloc, time.Hour, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(io.ErrClosedPipe) })
		work(ctx)
		last := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfiles}).Profiles[0]
		if last.State != msg.ProfileFailed || !strings.Contains(last.Message, io.ErrClosedPipe.Error()) || last.File != "" {
			t.Errorf("profile: %+v", last)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("left: %v, %v", files, err)
		}
		put(t, dir, "file", "")
		desk = inquiry.New("w1", "", filepath.Join(dir, "file"))
		_, work = profile(t.Context(), desk, msg.ProfileAlloc, time.Second, 1)
		work(t.Context())
		if last := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfiles}).Profiles[0]; last.State != msg.ProfileFailed {
			t.Errorf("profile: %+v", last)
		}
		for _, bad := range []msg.ProfileRequest{
			{Mode: "WALL", Duration: time.Second, Keep: 1}, {Mode: msg.ProfileCPU, Keep: 1}, {Mode: msg.ProfileCPU, Duration: time.Second},
		} {
			got, work := profile(t.Context(), desk, bad.Mode, bad.Duration, bad.Keep)
			if !errors.Is(got.Err(), msg.ErrBadInquiry) || work != nil {
				t.Errorf("%+v: %+v", bad, got)
			}
		}
	})
}

// TestAProfileOfTheCPU would catch a profile that is no profile, and the second one within a second that
// overwrites the first.
func TestAProfileOfTheCPU(t *testing.T) {
	desk := inquiry.New("w1", "", t.TempDir())
	var names [2]string
	for i := range names {
		_, work := profile(t.Context(), desk, msg.ProfileCPU, time.Millisecond, 10)
		work(t.Context())
		last := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfiles}).Profiles[0]
		if last.State != msg.ProfileFinished {
			t.Fatalf("profile: %+v", last)
		}
		names[i] = last.File
		read := ask(t, desk, msg.Inquiry{Topic: msg.AboutProfile, File: last.File})
		if _, err := gzip.NewReader(bytes.NewReader(read.Content)); err != nil {
			t.Errorf("its file is no profile: %v", err)
		}
	}
	if names[0] == names[1] {
		t.Errorf("two profiles are in %s", names[0])
	}
}

// TestOtherQuestionsAreRefused would catch a question that is answered with nothing.
func TestOtherQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	desk := inquiry.New("w1", "", "")
	if err := ask(t, desk, msg.Inquiry{Topic: "weather"}).Err(); !errors.Is(err, msg.ErrBadInquiry) {
		t.Error(err)
	}
	if err := ask(t, desk, msg.Inquiry{Topic: msg.AboutHosts}).Err(); !errors.Is(err, msg.ErrNotShown) {
		t.Error(err)
	}
}
