package config

import (
	"errors"
	"fmt"
	"slices"
)

// relation is an order that the values of two options must keep.
type relation struct {
	lesser, greater Key
	equal           bool // the values may be equal
}

// relations lists them all. Limits that depend on other facts, such as YARN's maximum, are checked
// where these facts are known.
var relations = []relation{ //nolint:gochecknoglobals // a constant table
	{lesser: HeartbeatInterval, greater: HeartbeatTimeout},             // otherwise a role is lost between two heartbeats
	{lesser: ClientHeartbeatInterval, greater: ClientHeartbeatTimeout}, // otherwise a job is cancelled between two heartbeats
	{lesser: YarnContainerRequestInterval, greater: YarnHeartbeatInterval, equal: true},
	{lesser: RegistrationInitialTimeout, greater: RegistrationMaxTimeout, equal: true},
	{lesser: TaskSlots, greater: SlotsMax, equal: true}, // otherwise no TaskExecutor fits
	{lesser: SlotsMin, greater: SlotsMax, equal: true},
	{lesser: MinTotalCPU, greater: MaxTotalCPU, equal: true},
	{lesser: MinTotalMemory, greater: MaxTotalMemory, equal: true},
	{lesser: ExponentialInitialBackoff, greater: ExponentialMaxBackoff, equal: true},
	{lesser: TaskManagerNetworkMin, greater: TaskManagerNetworkMax, equal: true},
	{lesser: TaskManagerOverheadMin, greater: TaskManagerOverheadMax, equal: true},
	{lesser: JobManagerOverheadMin, greater: JobManagerOverheadMax, equal: true},
}

// Validate checks whether options contradict each other, except for those of memory: see
// memory.WorkerOf. The error is a *Fault, or several joined.
// New has checked each value by itself.
func Validate(c Config) error {
	return errors.Join(contradictions(func(key Key) (held, bool) { return c.held(key), true })...)
}

// ValidateAmong is Validate for a process that reads only these options. It ignores contradictions
// between other options.
func ValidateAmong(c Config, keys ...Key) error {
	return errors.Join(contradictions(func(key Key) (held, bool) {
		return c.held(key), slices.ContainsFunc(keys, func(k Key) bool { return k.Name() == key.Name() })
	})...)
}

func (c Config) held(key Key) held {
	return held{get[any](c, key), fmt.Sprintf("%s (%s)", c.text(key), c.Source(key))}
}

// held is the value of an option, and its text for messages.
type held struct {
	value any
	text  string
}

// contradictions checks the relations between the options that find returns. An option that has no value
// contradicts none.
func contradictions(find func(Key) (held, bool)) []error {
	var faults []error
	for _, r := range relations {
		lesser, one := find(r.lesser)
		greater, other := find(r.greater)
		if !one || !other || lesser.value == nil || greater.value == nil {
			continue
		}
		if order := compare(lesser.value, greater.value); order > 0 || order == 0 && !r.equal {
			faults = append(faults, &Fault{
				What: fmt.Sprintf("option %s: %s is %s %s, %s",
					r.lesser.Name(), lesser.text, r.broken(), r.greater.Name(), greater.text),
				Remedy: fmt.Sprintf("lower %s or raise %s", r.lesser.Name(), r.greater.Name()),
			})
		}
	}
	return faults
}

func (r relation) broken() string {
	if r.equal {
		return "more than"
	}
	return "not less than"
}

// related describes an option's relations to others, for the reference.
func related(key Key) []string {
	var all []string
	for _, r := range relations {
		less, more := "Less than", "More than"
		if r.equal {
			less, more = "At most", "At least"
		}
		switch key {
		case r.lesser:
			all = append(all, fmt.Sprintf("%s `%s`.", less, r.greater.Name()))
		case r.greater:
			all = append(all, fmt.Sprintf("%s `%s`.", more, r.lesser.Name()))
		}
	}
	return all
}
