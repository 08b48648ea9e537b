package config

import (
	"fmt"
	"math"
)

// WorkerTotals are the slots, the cores and the memory of TaskExecutors: of one, of a floor or of a
// ceiling for all.
type WorkerTotals struct {
	Slots  int
	Cores  float64
	Memory Bytes
}

// MinWorkers returns the floor of slotmanager.*: the cluster has at least so much from its start to
// its end.
func MinWorkers(c Config) WorkerTotals {
	return WorkerTotals{c.Int(SlotsMin), c.Fraction(MinTotalCPU), c.Memory(MinTotalMemory)}
}

// MaxWorkers returns the ceiling of slotmanager.*.
func MaxWorkers(c Config) WorkerTotals {
	return WorkerTotals{c.Int(SlotsMax), c.Fraction(MaxTotalCPU), c.Memory(MaxTotalMemory)}
}

// LoadBalance returns how slots are chosen: taskmanager.load-balance.mode, or what
// cluster.evenly-spread-out-slots means if that is not set.
func LoadBalance(c Config) string {
	if c.Bool(EvenlySpreadOutSlots) && !c.IsSet(LoadBalanceMode) {
		return BalanceSlots
	}
	return c.String(LoadBalanceMode)
}

// WorkerVCores returns the vcores of a TaskExecutor's container: taskmanager.cpu.cores, or else
// yarn.containers.vcores, or else one for each slot.
func WorkerVCores(c Config) int {
	if cores := c.Fraction(TaskManagerCores); cores > 0 {
		return int(math.Ceil(min(cores, math.MaxInt32)))
	}
	if vcores := c.Int(YarnContainersVCores); vcores > 0 {
		return vcores
	}
	return c.Int(TaskSlots)
}

// Bound is a number of TaskExecutors that an option implies.
type Bound struct {
	Workers int
	By      Setting // the option, with its value
}

// String returns the option and its value.
func (b Bound) String() string { return fmt.Sprintf("%s: %s", b.By.key.Name(), b.By.text) }

// Fewest returns how many TaskExecutors of a size a floor requires.
func (t WorkerTotals) Fewest(one WorkerTotals) Bound {
	most := Bound{By: SlotsMin.Is(t.Slots)}
	for _, b := range []Bound{
		{int(math.Ceil(float64(t.Slots) / float64(one.Slots))), SlotsMin.Is(t.Slots)},
		{int(math.Ceil(min(t.Cores/one.Cores, math.MaxInt32))), MinTotalCPU.Is(t.Cores)},
		{int(math.Ceil(float64(t.Memory) / float64(max(one.Memory, 1)))), MinTotalMemory.Is(t.Memory)},
	} {
		if b.Workers > most.Workers {
			most = b
		}
	}
	return most
}

// Most returns how many TaskExecutors of a size fit under a ceiling.
func (t WorkerTotals) Most(one WorkerTotals) Bound {
	least := Bound{t.Slots / one.Slots, SlotsMax.Is(t.Slots)}
	for _, b := range []Bound{
		{int(min(t.Cores/one.Cores, math.MaxInt32)), MaxTotalCPU.Is(t.Cores)},
		{int(t.Memory / max(one.Memory, 1)), MaxTotalMemory.Is(t.Memory)},
	} {
		if b.Workers < least.Workers {
			least = b
		}
	}
	return least
}

// Plus returns t and n TaskExecutors of a size.
func (t WorkerTotals) Plus(n int, one WorkerTotals) WorkerTotals {
	return WorkerTotals{t.Slots + n*one.Slots, t.Cores + float64(n)*one.Cores, t.Memory + Bytes(n)*one.Memory}
}

// Exceeded tells whether TaskExecutors that have this sum are too many under a ceiling, and which option they
// exceed.
func (t WorkerTotals) Exceeded(sum WorkerTotals) (by Bound, exceeded bool) {
	const rounding = 1e-6 // of a sum of parts of cores
	switch {
	case sum.Slots > t.Slots:
		return Bound{By: SlotsMax.Is(t.Slots)}, true
	case sum.Cores > t.Cores+rounding:
		return Bound{By: MaxTotalCPU.Is(t.Cores)}, true
	case sum.Memory > t.Memory:
		return Bound{By: MaxTotalMemory.Is(t.Memory)}, true
	}
	return Bound{}, false
}

// String describes a TaskExecutor of this size.
func (t WorkerTotals) String() string {
	return fmt.Sprintf("%d slots, %v cores and %v", t.Slots, t.Cores, t.Memory)
}

// CheckWorkers checks that a TaskExecutor of a size fits under the ceiling, and that as many fit as
// the floor requires. memory names what decides its memory. The error is a *Fault.
func CheckWorkers(one WorkerTotals, memory string, floor, ceiling WorkerTotals) error {
	least, most := floor.Fewest(one), ceiling.Most(one)
	switch {
	case most.Workers == 0:
		return &Fault{
			What:   fmt.Sprintf("option %v is less than one TaskExecutor, which has %v", most, one),
			Remedy: fmt.Sprintf("raise %s or make TaskExecutors smaller (%s)", most.By.key.Name(), sizedBy(most.By.key, memory)),
		}
	case least.Workers > most.Workers:
		return &Fault{
			What: fmt.Sprintf("option %v needs %d TaskExecutors, and option %v allows %d; each has %v",
				least, least.Workers, most, most.Workers, one),
			Remedy: fmt.Sprintf("lower %s or raise %s", least.By.key.Name(), most.By.key.Name()),
		}
	}
	return nil
}

// sizedBy names the options that decide how much of a ceiling a TaskExecutor takes.
func sizedBy(ceiling Key, memory string) string {
	switch ceiling {
	case MaxTotalMemory:
		return memory
	case MaxTotalCPU:
		return fmt.Sprintf("%s, %s", TaskManagerCores.Name(), YarnContainersVCores.Name())
	default:
		return TaskSlots.Name()
	}
}
