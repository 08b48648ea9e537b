package launch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrResources says that a container would exceed YARN's maximum.
var ErrResources = errors.New("container exceeds what YARN allows")

// Refusal is the reason for which a check refuses a submission.
type Refusal struct {
	Kind   error // for errors.Is
	What   string
	Remedy string // what the user can do
}

func (r *Refusal) Error() string { return fmt.Sprintf("%v: %s: %s", r.Kind, r.What, r.Remedy) }

func (r *Refusal) Unwrap() error { return r.Kind }

// Limits bound the workers of a job. The client checks them before it starts a cluster for a job, and the
// ApplicationMaster before it accepts a job.
type Limits struct {
	Ceiling config.WorkerTotals // of all workers
	Largest records.Resource    // YARN's largest container; zero: not known
	Place   WorkerPlace
}

// Check checks that a job can run within the limits. A job for which this fails would get no slots, however long
// it waited. The error is a *config.Fault for the ceiling, a *Refusal of ErrResources for YARN's largest
// container, or several joined.
func (l Limits) Check(workers []JobWorkers) error {
	return errors.Join(l.largest(workers), l.ceiling(workers))
}

// ceiling compares each region with the ceiling, since its tasks need their slots at the same time, and workers that serve what they
// read.
func (l Limits) ceiling(workers []JobWorkers) error {
	for r := range workers[0].Regions {
		var sum config.WorkerTotals
		for i, w := range workers {
			if by, exceeded := l.Ceiling.Exceeded(w.totals(r)); exceeded { // already without the others
				return tooMany(by, w.totals(r), workers[i:i+1], r)
			}
			sum = sum.Plus(1, w.totals(r))
		}
		if by, exceeded := l.Ceiling.Exceeded(sum); exceeded {
			return tooMany(by, sum, workers, r)
		}
	}
	return nil
}

// totals are the workers that region r needs to run, or to read from.
func (w JobWorkers) totals(r int) config.WorkerTotals {
	one := config.WorkerTotals{
		Slots: w.Each.Memory.Slots, Cores: float64(w.Each.VCores), Memory: config.Bytes(w.Each.Memory.ContainerMB()) * config.Mebibyte,
	}
	n := int(w.count(w.Regions[r]))
	if w.Reads[r] {
		n = max(n, 1)
	}
	return config.WorkerTotals{}.Plus(n, one)
}

// tooMany says that region r exceeds the ceiling.
func tooMany(by config.Bound, sum config.WorkerTotals, workers []JobWorkers, r int) error {
	var slots []string
	lower := "the parallelism"
	for _, w := range workers {
		switch n := w.Regions[r]; {
		case n == 0 && w.Reads[r]:
			slots = append(slots, fmt.Sprintf("a TaskExecutor of slot sharing group %s to serve what the other slots read", w.Names()))
		case n == 0:
		case w.Profile.IsDefault():
			slots = append(slots, fmt.Sprintf("%d slots of slot sharing group %s", n, w.Names()))
		default:
			slots = append(slots, fmt.Sprintf("%d slots of slot sharing group %s, each with %s", n, w.Names(), w.Profile))
			lower = "the parallelism or the resources of slot sharing groups"
		}
	}
	return &config.Fault{
		What:   fmt.Sprintf("option %v is less than the job needs at a time: %s, in TaskExecutors that have %v together", by, strings.Join(slots, ", and "), sum),
		Remedy: "raise it or lower " + lower,
	}
}

// largest compares the workers of slot sharing groups that have resources with YARN's largest container. A
// worker of default slots is checked before its cluster starts. A worker with several slots is not larger than that one.
func (l Limits) largest(workers []JobWorkers) error {
	if l.Largest.MemoryMB == 0 {
		return nil
	}
	var faults []error
	for _, w := range workers {
		if w.Profile.IsDefault() {
			continue
		}
		const options = "dataflow.Resources of the group"
		each, limit := w.Each, fmt.Sprintf("YARN's largest container has %d MB and %d vcores", l.Largest.MemoryMB, l.Largest.VCores)
		what := fmt.Sprintf("a TaskExecutor of slot sharing group %s (slots: %d, each with %s)", w.Names(), each.Memory.Slots, w.Profile)
		refuse := func(asked, limit, remedy string) {
			faults = append(faults, &Refusal{Kind: ErrResources, What: what + " asks for " + asked + ", " + limit, Remedy: remedy})
		}
		if mb := int64(each.Memory.ContainerMB()); mb > l.Largest.MemoryMB {
			refuse(fmt.Sprintf("%d MB", mb), limit, "lower it ("+options+")")
		}
		if each.VCores > l.Largest.VCores {
			refuse(fmt.Sprintf("%d vcores", each.VCores), limit, "lower it ("+options+")")
		}
		if name := l.Place.Unknown(each.External); name != "" {
			refuse(name, fmt.Sprintf("which is not in %s", config.ExternalResources),
				fmt.Sprintf("add it there, and set external-resource.%s.yarn.config-key", name))
		}
		faults = append(faults, l.Place.CheckExternal(what, each.External, options, l.Largest)...)
	}
	return errors.Join(faults...)
}

// CheckExternal compares the other resources of a TaskExecutor's container, beside memory and vcores, with
// YARN's maximum. It returns a *Refusal for each that is too large. options decide the amounts.
func (p WorkerPlace) CheckExternal(what string, external msg.ExternalResources, options string, maximum records.Resource) []error {
	var faults []error
	types := maximum.Others.Map()
	asked := p.Capability(0, 0, external, maximum).Others.Map()
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		refused := &Refusal{Kind: ErrResources}
		most, known := types[name]
		switch {
		case !known:
			refused.What = fmt.Sprintf("%s asks for %s, which YARN does not offer", what, name)
			refused.Remedy = fmt.Sprintf("name another (external-resource.*.yarn.config-key): YARN has %s",
				cmp.Or(strings.Join(slices.Sorted(maps.Keys(types)), ", "), "only memory and vcores"))
		case !(records.Resource{}).With(name, asked[name]).Fits(maximum):
			refused.What = fmt.Sprintf("%s asks for %s of %s, YARN's largest container has %s", what, asked[name], name, most)
			refused.Remedy = "lower it (" + options + ")"
		default:
			continue
		}
		faults = append(faults, refused)
	}
	return faults
}
