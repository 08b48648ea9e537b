package config

import (
	"errors"
	"strings"
	"testing"
)

// TestLimitsOfWorkersThatContradictEachOther would catch a cluster that waits for ever for a
// TaskExecutor, because no ceiling allows one, or because floor and ceiling are not met together.
func TestLimitsOfWorkersThatContradictEachOther(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pairs []string
		says  string // "": no fault
	}{
		{[]string{"slotmanager.number-of-slots.min", "3", "slotmanager.number-of-slots.max", "4", "taskmanager.numberOfTaskSlots", "2"}, ""},
		{[]string{"slotmanager.min-total-resource.cpu", "1.5", "slotmanager.max-total-resource.cpu", "2", "slotmanager.max-total-resource.memory", "2g"}, ""},
		{
			[]string{"slotmanager.number-of-slots.min", "3", "slotmanager.number-of-slots.max", "2"},
			"option slotmanager.number-of-slots.min: 3 (-D) is more than slotmanager.number-of-slots.max, 2 (-D), lower slotmanager.number-of-slots.min or raise slotmanager.number-of-slots.max",
		},
		{
			[]string{"slotmanager.min-total-resource.memory", "3g", "slotmanager.max-total-resource.memory", "2g"},
			"option slotmanager.min-total-resource.memory: 3g (-D) is more than slotmanager.max-total-resource.memory, 2g (-D), lower",
		},
		{
			[]string{"slotmanager.min-total-resource.cpu", "3", "slotmanager.max-total-resource.cpu", "2"},
			"option slotmanager.min-total-resource.cpu: 3 (-D) is more than slotmanager.max-total-resource.cpu, 2 (-D), lower",
		},
		{
			[]string{"slotmanager.max-total-resource.memory", "1000m"},
			"option slotmanager.max-total-resource.memory: 1000m is less than one TaskExecutor, which has 1 slots, 1 cores and 1g, raise slotmanager.max-total-resource.memory or make",
		},
		{
			[]string{"slotmanager.max-total-resource.cpu", "3.5", "taskmanager.numberOfTaskSlots", "4"},
			"option slotmanager.max-total-resource.cpu: 3.5 is less than one TaskExecutor, which has 4 slots, 4 cores and 1g, raise slotmanager.max-total-resource.cpu or make TaskExecutors smaller (taskmanager.cpu.cores, yarn.containers.vcores)",
		},
		{ // three slots are two TaskExecutors, and only one has three or fewer
			[]string{"slotmanager.number-of-slots.min", "3", "slotmanager.number-of-slots.max", "3", "taskmanager.numberOfTaskSlots", "2"},
			"option slotmanager.number-of-slots.min: 3 needs 2 TaskExecutors, and option slotmanager.number-of-slots.max: 3 allows 1; each has 2 slots, 2 cores and 1g, lower slotmanager.number-of-slots.min or raise slotmanager.number-of-slots.max",
		},
		{ // a floor of one kind, and a ceiling of another
			[]string{"slotmanager.number-of-slots.min", "5", "slotmanager.max-total-resource.memory", "4g"},
			"option slotmanager.number-of-slots.min: 5 needs 5 TaskExecutors, and option slotmanager.max-total-resource.memory: 4g allows 4; each has 1 slots, 1 cores and 1g, lower slotmanager.number-of-slots.min or raise slotmanager.max-total-resource.memory",
		},
	} {
		c := mustNew(t, layer("-D", test.pairs...))
		err := Validate(c)
		if err == nil {
			err = CheckWorkers(WorkerTotals{c.Int(TaskSlots), float64(WorkerVCores(c)), Gibibyte}, TaskManagerProcessSize.Name(), MinWorkers(c), MaxWorkers(c))
		}
		if (err == nil) != (test.says == "") || err != nil && (!errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), test.says)) {
			t.Errorf("%v:\ngot  %v\nwant %s", test.pairs, err, test.says)
		}
	}
}

// TestTheBindingLimitIsNamed would catch a message that names an option which the user may raise
// without an effect.
func TestTheBindingLimitIsNamed(t *testing.T) {
	t.Parallel()
	one := WorkerTotals{Slots: 2, Cores: 4, Memory: Gibibyte}
	for _, test := range []struct {
		totals       WorkerTotals
		fewest, most string
	}{
		{WorkerTotals{5, 9, 2 * Gibibyte}, "slotmanager.number-of-slots.min: 5", "slotmanager.number-of-slots.max: 5"},
		{WorkerTotals{8, 17, 4 * Gibibyte}, "slotmanager.min-total-resource.cpu: 17", "slotmanager.number-of-slots.max: 8"},
		{WorkerTotals{8, 12, 5 * Gibibyte}, "slotmanager.min-total-resource.memory: 5g", "slotmanager.max-total-resource.cpu: 12"},
		{WorkerTotals{8, 16, 3*Gibibyte + 1}, "slotmanager.number-of-slots.min: 8", "slotmanager.max-total-resource.memory: 3221225473b"},
	} {
		if got := test.totals.Fewest(one).String(); got != test.fewest {
			t.Errorf("the floor %v is due to %s, want %s", test.totals, got, test.fewest)
		}
		if got := test.totals.Most(one).String(); got != test.most {
			t.Errorf("the ceiling %v is due to %s, want %s", test.totals, got, test.most)
		}
	}
}

// TestTheOldNameOfSlotBalanceCountsLess would catch a deprecated option that overrides its successor.
func TestTheOldNameOfSlotBalanceCountsLess(t *testing.T) {
	t.Parallel()
	for want, pairs := range map[string][]string{
		BalanceNone:  {"cluster.evenly-spread-out-slots", "true", "taskmanager.load-balance.mode", "none"},
		BalanceSlots: {"cluster.evenly-spread-out-slots", "true"},
	} {
		if got := LoadBalance(mustNew(t, layer("-D", pairs...))); got != want {
			t.Errorf("%v: mode %s, want %s", pairs, got, want)
		}
	}
	if got := LoadBalance(Config{}); got != BalanceNone {
		t.Errorf("the default is %s", got)
	}
}
