package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	tinySize = "100k"
	tinyRuns = 9
	// warmUps is the number of runs before the measurement, because the daemons' first answers are
	// slow.
	warmUps = 3
)

// tinyJob measures a job with almost no work, step by step.
func tinyJob(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "A tiny job",
		text: fmt.Sprintf("`bobbin run -t yarn-per-job wordcount-tuned --input hdfs:…` on %s of text, with one worker. Each time runs from the "+
			"start of the command to the end of the step, in ms. For steps of the ApplicationMaster, its clock gives the time. "+
			"In the column *one container*, the worker runs in the ApplicationMaster's container (`yarn.application.uber: auto`); "+
			"its runs alternate with those of the column *cached*. "+
			"The time from *staged* to *appmaster started* is mostly YARN's: it allocates a container only when a NodeManager sends its "+
			"heartbeat, which each of the two does once a second. "+
			"In the column *not cached*, the client uploads both binaries, and the NodeManager localizes them.", tinySize),
		head: []string{"step", "to reach", "cached", "one container", "not cached"},
	}
	_, input, err := r.text(ctx, tinySize)
	if err != nil {
		return t, err
	}
	for range r.runs(warmUps) {
		if _, err := r.wordcount(ctx, input, "counts"); err != nil {
			return t, err
		}
	}
	var cached, one, uploaded []job
	run := func(jobs *[]job, flags ...string) error {
		if err := outOfStep(ctx); err != nil {
			return err
		}
		j, err := r.wordcount(ctx, input, "counts", flags...)
		*jobs = append(*jobs, j)
		return err
	}
	for range r.runs(tinyRuns) {
		if err := errors.Join(run(&cached), run(&one, "-D", "yarn.application.uber=auto")); err != nil {
			return t, err
		}
	}
	for range r.runs(tinyRuns) {
		if err := errors.Join(r.dropCache(ctx), run(&uploaded)); err != nil {
			return t, err
		}
	}
	for _, name := range stepNames(uploaded) {
		t.row(name, "", stepSpread(cached, name), stepSpread(one, name), stepSpread(uploaded, name))
	}
	bold := func(jobs []job) string { return "**" + spread(walls(jobs), millis) + "**" }
	t.row("**command ended**", "3 s cached, 0.8 s in one container", bold(cached), bold(one), bold(uploaded))
	return t, nil
}

func walls(jobs []job) []time.Duration {
	times := make([]time.Duration, len(jobs))
	for i, j := range jobs {
		times[i] = j.Wall
	}
	return times
}

// stepNames returns the names of all steps, in the order of their median times.
func stepNames(jobs []job) []string {
	var names []string
	for _, j := range jobs {
		for _, s := range j.Steps {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(median(stepTimes(jobs, a)), median(stepTimes(jobs, b)))
	})
	return names
}

func stepTimes(jobs []job, name string) []time.Duration {
	var times []time.Duration
	for _, j := range jobs {
		if at, there := j.step(name); there {
			times = append(times, at)
		}
	}
	return times
}

// stepSpread returns the times at which the jobs had done a step, or nothing if they have no such
// step.
func stepSpread(jobs []job, name string) string {
	times := stepTimes(jobs, name)
	if len(times) == 0 {
		return ""
	}
	return spread(times, millis)
}
