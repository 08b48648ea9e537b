package main

import (
	"cmp"
	"context"
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
		text: fmt.Sprintf("`bobbin run -t yarn-per-job wordcount --input hdfs:…` on %s of text, with one worker. Each time runs from the "+
			"start of the command to the end of the step, in ms. For steps of the ApplicationMaster, its clock gives the time. "+
			"In the column *not cached*, the client uploads both binaries, and the NodeManager localizes them. In an earlier "+
			"measurement Flink 1.20 took 19 s with its libraries on HDFS, and 26 s with their upload.", tinySize),
		head: []string{"step", "to reach", "cached", "not cached"},
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
	var cached, uploaded []job
	for range r.runs(tinyRuns) {
		if err := outOfStep(ctx); err != nil {
			return t, err
		}
		j, err := r.wordcount(ctx, input, "counts")
		if err != nil {
			return t, err
		}
		cached = append(cached, j)
	}
	for range r.runs(tinyRuns) {
		if err := r.dropCache(ctx); err != nil {
			return t, err
		}
		if err := outOfStep(ctx); err != nil {
			return t, err
		}
		j, err := r.wordcount(ctx, input, "counts")
		if err != nil {
			return t, err
		}
		uploaded = append(uploaded, j)
	}
	for _, name := range stepNames(uploaded) {
		t.row(name, "", stepSpread(cached, name), stepSpread(uploaded, name))
	}
	t.row("**command ended**", "3 s cached", "**"+spread(walls(cached), millis)+"**", "**"+spread(walls(uploaded), millis)+"**")
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
