package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
	"github.com/bobbin-yarn/bobbin/integration/internal/screen"
)

// standIn takes the place of bobbin: a command that ends, and one that has the whole screen until q.
const standIn = `#!/bin/sh
case $1 in
run)
	printf 'counting & more\r\n'
	exit 0 ;;
top)
	stty raw
	printf '\033[?1049h\033[?25l\033[2J\033[1;1H\033[0;1;36mtop\033[0m  \033[0;7m paused \033[0m'
	while key=$(dd bs=1 count=1 2>/dev/null) && [ "$key" != q ]; do printf '\033[2;1Hkey %s' "$key"; done
	printf '\033[?25h\033[?1049l' ;;
esac
`

func recorded(t *testing.T) []frame {
	t.Helper()
	bin := t.TempDir()
	if err := runnable.Write(filepath.Join(bin, "bobbin"), []byte(standIn)); err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	counting, err := r.start(t.Context(), bin, "run")
	if err != nil {
		t.Fatal(err)
	}
	if err := counting.wait(); err != nil {
		t.Fatal(err)
	}
	top, err := r.start(t.Context(), bin, "top")
	if err != nil {
		t.Fatal(err)
	}
	if err := top.perform(t.Context(), []act{{"", "paused", 0}, {"j", "key j", 0}}); err != nil {
		t.Fatal(err)
	}
	r.stop()
	if err := errors.Join(top.presses("q"), top.wait()); err != nil {
		t.Fatal(err)
	}
	return r.cut()
}

// TestARecordingIsAPicture would catch a picture that is no XML, has a script or asks for another file, does not end with what
// the terminal showed last, or moves where the reader wants no motion.
func TestARecordingIsAPicture(t *testing.T) {
	t.Parallel()
	frames := recorded(t)
	path := filepath.Join(t.TempDir(), "terminal.svg")
	if err := write(path, frames); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(content)
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if found := regexp.MustCompile(`<script|href|url\(|@import`).FindString(svg); found != "" {
		t.Errorf("the picture has %q", found)
	}
	for _, want := range []string{"counting &amp; more", ">bobbin top<", ">top<", "prefers-reduced-motion:reduce", "prefers-color-scheme:dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
	last := regexp.MustCompile(`#l1\{transform:translateY\(-(\d+)px\)`).FindStringSubmatch(svg) // at rest
	if last == nil || !strings.Contains(svg, `<g transform="translate(0 `+last[1]+`)"><text y="13.5" textLength="42">key j</text>`) {
		t.Errorf("the second line rests at %q: %s", last, svg)
	}
}

// TestARecordingThatGoesWrongIsAnError would catch a picture of a command that has failed, and a wait without an end for one that
// shows something else.
func TestARecordingThatGoesWrongIsAnError(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := runnable.Write(filepath.Join(bin, "bobbin"), []byte("#!/bin/sh\necho something else\nexit 3\n")); err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	p, err := r.start(t.Context(), bin, "run")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.sees("counts"); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("it does not see the text: %v", err)
	}
	if err := p.wait(); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("it has failed: %v", err)
	}
	if err := write(filepath.Join(bin, "terminal.svg"), nil); err == nil {
		t.Error("a picture of nothing")
	}
}

// TestAFilmHasNoLongStills would catch a picture that waits as long as the commands did, and moments that nobody can see.
func TestAFilmHasNoLongStills(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	f := edit([]frame{{at: 0}, {at: time.Second}, {at: time.Second + time.Millisecond}, {at: time.Hour}})
	for _, now := range f.frames {
		at = append(at, now.at)
	}
	if diff := cmp.Diff([]time.Duration{0, time.Second + time.Millisecond, time.Second + time.Millisecond + longestStill}, at); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if want := at[2] + lastStill; f.lasts != want {
		t.Errorf("it lasts %v, not %v", f.lasts, want)
	}
}

// TestALineKeepsItsColumns would catch columns that shift in another font, and a style that is lost.
func TestALineKeepsItsColumns(t *testing.T) {
	t.Parallel()
	p := canvas.New(30, 1)
	p.Text(0, 0, canvas.Good|canvas.Bold, "每<")
	p.Text(10, 0, canvas.Faint, "a b")
	p.Text(20, 0, canvas.Reverse, "  ")
	s := screen.New(30, 1)
	if _, err := s.Write([]byte(p.Line(0, true))); err != nil {
		t.Fatal(err)
	}
	const want = `<text y="13.5" textLength="25.2" class="g b">每&lt;</text>` +
		`<text y="13.5" x="84" textLength="25.2" class="f">a b</text>` +
		`<rect x="168" width="16.8" height="18" style="fill:var(--t)"/>`
	if diff := cmp.Diff(want, markup(s.Row(0))); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}
