package memory

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// offHeapFraction is the part of the memory without overhead that users' programs get, if they run
// beside the ApplicationMaster and no option says it.
const offHeapFraction = 0.375

// Parts of a program's share. Its own overhead takes the rest.
const (
	programPart = 5
	programOf   = 6
	// leastProgram is the memory that a program needs to plan anything.
	leastProgram = 24 * config.Mebibyte
)

// Master is the division of an ApplicationMaster's container, in bytes. Its parts add up to the whole.
//
//	Process ─┬─ Overhead: text and stacks of all processes, the kernel
//	         ├─ Heap: the limit of the ApplicationMaster itself (GOMEMLIMIT)
//	         └─ OffHeap: users' programs, which are child processes
type Master struct {
	Process  config.Bytes // the container, in whole MB
	Heap     config.Bytes
	OffHeap  config.Bytes
	Overhead config.Bytes
	Programs int // users' programs that run at the same time
	// By names the option that decides the size of the container.
	By config.MemoryKey
}

// Flink is the memory without the overhead: Flink's total Flink memory.
func (m Master) Flink() config.Bytes { return m.Heap + m.OffHeap }

// ContainerMB is the size of the container.
func (m Master) ContainerMB() int { return m.Process.Megabytes() }

// Program is the limit (GOMEMLIMIT) of each program, at least 24 MB; 0 if none runs.
func (m Master) Program() config.Bytes {
	if m.Programs == 0 {
		return 0
	}
	return max(m.OffHeap*programPart/programOf/config.Bytes(m.Programs), leastProgram)
}

// Options are the options that describe the division, with their values. The zero Master has none.
func (m Master) Options() map[string]string {
	if m.Process == 0 {
		return nil
	}
	return map[string]string{
		config.JobManagerProcessSize.Name(): m.Process.String(),
		config.JobManagerHeapSize.Name():    m.Heap.String(),
		config.JobManagerOffHeapSize.Name(): m.OffHeap.String(),
		config.JobManagerOverheadMin.Name(): m.Overhead.String(),
		config.JobManagerOverheadMax.Name(): m.Overhead.String(),
	}
}

var masterOverheadBounds = bounds{config.JobManagerOverheadMin, config.JobManagerOverheadMax} //nolint:gochecknoglobals // constants

// MasterSizedBy returns the option that decides the size of an ApplicationMaster's container and of its
// heap: the first of jobmanager.memory.heap.size, jobmanager.memory.flink.size and
// jobmanager.memory.process.size that is set, or else the last one. An error that asks for more memory of
// the ApplicationMaster names it.
func MasterSizedBy(c config.Config) config.MemoryKey {
	switch {
	case c.IsSet(config.JobManagerHeapSize):
		return config.JobManagerHeapSize
	case c.IsSet(config.JobManagerFlinkSize):
		return config.JobManagerFlinkSize
	default:
		return config.JobManagerProcessSize
	}
}

// MasterOf divides the container of an ApplicationMaster, whose size comes from the option of
// MasterSizedBy. If further ones are set, they must agree. The error is a *config.Fault about options that
// contradict each other.
func MasterOf(c config.Config, programs int) (Master, error) { return divideMaster(read(c), programs) }

func divideMaster(o options, programs int) (Master, error) {
	m := Master{Programs: programs, By: MasterSizedBy(o.Config)}
	if err := o.sane(config.JobManagerProcessSize, config.JobManagerFlinkSize, config.JobManagerHeapSize, config.JobManagerOffHeapSize,
		config.JobManagerOverheadMin); err != nil {
		return m, err
	}
	fraction := o.Fraction(config.JobManagerOverheadFraction)
	if m.By == config.JobManagerProcessSize {
		m.Process = wholeMB(o.Memory(config.JobManagerProcessSize))
		m.Overhead = o.clamp(overhead, part(m.Process, fraction), config.JobManagerOverheadFraction, masterOverheadBounds)
		return m, m.divide(o, m.Process-m.Overhead)
	}
	if err := m.divide(o, o.Memory(config.JobManagerFlinkSize)); err != nil {
		return m, err
	}
	if !o.IsSet(config.JobManagerProcessSize) {
		m.Process = wholeMB(m.Flink() + o.clamp(overhead, aside(m.Flink(), fraction), config.JobManagerOverheadFraction, masterOverheadBounds))
		m.Overhead = m.Process - m.Flink()
		return m, nil
	}
	m.Process = wholeMB(o.Memory(config.JobManagerProcessSize))
	m.Overhead, o.by[overhead] = m.Process-m.Flink(), config.JobManagerProcessSize
	what := "option " + o.told(m.By) + " and " + o.told(config.JobManagerProcessSize)
	if m.Overhead < 0 {
		return m, &config.Fault{
			What:   fmt.Sprintf("%s: heap and off-heap memory have %s, more than the container", what, Text(m.Flink())),
			Remedy: fmt.Sprintf("lower %s, or raise or remove %s", m.By.Name(), config.JobManagerProcessSize.Name()),
		}
	}
	return m, o.check("the overhead", m.Overhead, masterOverheadBounds, what, m.By)
}

// divide divides the memory without overhead. flink is 0 if it is the sum of the parts.
func (m *Master) divide(o options, flink config.Bytes) error {
	given := o.IsSet(config.JobManagerOffHeapSize)
	o.by[heap], o.by[offHeap] = m.By, config.JobManagerOffHeapSize
	m.OffHeap = o.Memory(config.JobManagerOffHeapSize)
	if m.By == config.JobManagerHeapSize {
		m.Heap = o.Memory(config.JobManagerHeapSize)
		if !given && m.Programs > 0 {
			m.OffHeap = aside(m.Heap, offHeapFraction)
		}
		if !o.IsSet(config.JobManagerFlinkSize) {
			return nil
		}
		if rest := flink - m.Heap; rest >= 0 && (!given || rest == m.OffHeap) {
			m.OffHeap = rest
			if !given {
				o.by[offHeap] = config.JobManagerFlinkSize
			}
			return nil
		}
		return m.exceeds(o, flink)
	}
	if !given && m.Programs > 0 {
		m.OffHeap = part(flink, offHeapFraction)
	}
	if m.Heap = flink - m.OffHeap; m.Heap <= 0 {
		return m.exceeds(o, flink)
	}
	return nil
}

// exceeds says that heap and off-heap memory are not what another option gives.
func (m *Master) exceeds(o options, flink config.Bytes) error {
	total := config.JobManagerProcessSize
	if o.IsSet(config.JobManagerFlinkSize) {
		total = config.JobManagerFlinkSize
	}
	one := config.Key(config.JobManagerHeapSize)
	switch {
	case o.IsSet(config.JobManagerOffHeapSize):
		one = config.JobManagerOffHeapSize
	case !o.IsSet(config.JobManagerHeapSize):
		one = config.JobManagerOverheadMin
	}
	return &config.Fault{
		What: fmt.Sprintf("option %s: heap %s and off-heap %s do not fit %s, which gives them %s",
			o.told(one), Text(max(0, m.Heap)), Text(m.OffHeap), o.told(total), Text(max(0, flink))),
		Remedy: fmt.Sprintf("change %s or %s", one.Name(), total.Name()),
	}
}
