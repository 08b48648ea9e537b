// Command recording records what a terminal shows while commands of Bobbin run on a real cluster, and writes an animated picture
// (SVG): a word count with the live view of `bobbin run`, and then a job with one skewed key in `bobbin top`. It needs
// HADOOP_CONF_DIR, and the jobs' input on HDFS. The second job runs on at its end.
//
//	recording -bin DIR [-o FILE]
//
// scripts/recording prepares all that, and runs it. A goroutine reads the terminal of the present command, and ends with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// patience bounds the recording: a command that does not show what it should is then killed.
const patience = 3 * time.Minute

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("recording", flag.ContinueOnError)
	flags.SetOutput(stderr)
	bin := flags.String("bin", "", "`directory` with the programs bobbin, wordcount and clicks")
	out := flags.String("o", filepath.Join("docs", "images", "terminal.svg"), "`file` of the picture")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := newRecorder()
	err := r.play(ctx, *bin)
	if err == nil {
		err = write(*out, r.cut())
	}
	if err != nil {
		fmt.Fprintf(stderr, "recording: %v\n", err)
		return 1
	}
	return 0
}

// most is the largest picture, in bytes: a page with it should appear soon.
const most = 150 << 10

// write writes the picture of a recording.
func write(path string, frames []frame) error {
	if len(frames) == 0 {
		return errors.New("nothing is recorded")
	}
	svg := picture(edit(frames), "Bobbin in a terminal",
		"bobbin run counts words and shows how far its vertices are. Then bobbin top shows a job in which one subtask has most of the work.")
	if len(svg) > most {
		return fmt.Errorf("the picture has %d KB, more than %d", len(svg)>>10, most>>10)
	}
	if err := os.WriteFile(path, []byte(svg), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// act is something that a person does: keys, after which the terminal shows a text, and a time to look at it.
type act struct {
	keys, sees string
	looks      time.Duration
}

// play runs the commands of the recording. The last one still runs at the recording's end.
func (r *recorder) play(ctx context.Context, bin string) error {
	for _, command := range [][]string{
		{"run", "-t", "yarn-per-job", "-p", "4", "-s", "2", "./wordcount", "--input", "/demo/text", "--output", "/demo/counts"},
		{"run", "-t", "yarn-per-job", "-d", "-p", "4", "-s", "2", "./clicks", "/demo/clicks", "/demo/users"},
	} {
		p, err := r.start(ctx, bin, command...)
		if err != nil {
			return err
		}
		if err := p.wait(); err != nil {
			return err
		}
	}
	applications := regexp.MustCompile(`application_\d+_\d+`).FindAllString(r.shown.String(), -1)
	if len(applications) == 0 {
		return fmt.Errorf("the terminal names no application, but shows\n%s", r.shown)
	}
	top, err := r.start(ctx, bin, "top", applications[len(applications)-1])
	if err != nil {
		return err
	}
	err = top.perform(ctx, []act{
		{"", "work is not spread equally", 4 * time.Second},
		{"\t", "▸ Vertices of clicks", time.Second},
		{"j", "", time.Second},
		{"\r", "SUBTASK", 8 * time.Second},
	})
	if err != nil {
		return errors.Join(err, top.kill())
	}
	r.stop()
	return errors.Join(top.presses("q"), top.wait())
}

// perform does what a person does.
func (p *process) perform(ctx context.Context, acts []act) error {
	for _, a := range acts {
		if err := p.presses(a.keys); err != nil {
			return err
		}
		if err := p.sees(a.sees); err != nil {
			return err
		}
		if err := p.stays(ctx, a.looks); err != nil {
			return err
		}
	}
	return nil
}
