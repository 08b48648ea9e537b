package main

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const sessionRuns = 5

// sessionJobs measures a session's first job, whose workers must start, and the next job, step by
// step.
func sessionJobs(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "A job of a session",
		text: "`bobbin run -t yarn-session wordcount-tuned` on three lines of text. Each time runs from the start of the command to " +
			"the end of the step. An earlier job has uploaded the program. The session has no worker for its first job, and " +
			"an idle worker for the next one. For steps of the ApplicationMaster, its clock gives the time, in ms.",
		head: []string{"step", "first job", "next job"},
	}
	input, err := r.threeLines(ctx)
	if err != nil {
		return t, err
	}
	if _, _, err := r.sessionOfTwo(ctx, input); err != nil { // so that its program is uploaded
		return t, err
	}
	var first, next []job
	for range r.runs(sessionRuns) {
		one, other, err := r.sessionOfTwo(ctx, input)
		if err != nil {
			return t, err
		}
		first, next = append(first, one), append(next, other)
	}
	for _, name := range stepNames(first) {
		t.row(name, stepSpread(first, name), stepSpread(next, name))
	}
	t.row("**command ended**", "**"+spread(walls(first), millis)+"**", "**"+spread(walls(next), millis)+"**")
	return t, nil
}

// sessionOfTwo runs two jobs in a session of their own.
func (r *rig) sessionOfTwo(ctx context.Context, input string) (first, next job, err error) {
	if err := outOfStep(ctx); err != nil {
		return first, next, err
	}
	b := bobbin{r, input}
	started, err := r.reported(ctx, append(b.session()[1:], "-o", "json")...)
	if err != nil {
		return first, next, err
	}
	id, err := records.ParseApplicationID(started.Application)
	if err != nil {
		return first, next, err
	}
	run := append([]string{"run", "-o", "json"}, b.job(started.Application)[2:]...)
	if first, err = r.reported(ctx, run...); err != nil {
		return first, next, err
	}
	if next, err = r.reported(ctx, run...); err != nil {
		return first, next, err
	}
	return first, next, r.end(ctx, id)
}

// end ends an application, and waits for its end.
func (r *rig) end(ctx context.Context, id records.ApplicationID) error {
	if err := r.client.YARN.Kill(ctx, id, "measured"); err != nil {
		return err
	}
	_, err := r.client.AwaitEnd(ctx, id)
	return err
}

// threeLines returns the path on HDFS of a text with almost no work for a job.
func (r *rig) threeLines(ctx context.Context) (string, error) {
	home, err := r.client.Files.Home()
	if err != nil {
		return "", err
	}
	path := home + "/three-lines"
	if _, err := r.client.Files.Stat(ctx, path); err == nil {
		return path, nil
	}
	if err := r.client.Files.WriteFile(ctx, path, []byte("to be or not to be\nthat is the question\nto do is to be\n"), 0o644); err != nil {
		return "", fmt.Errorf("write a text of three lines: %w", err)
	}
	return path, nil
}
