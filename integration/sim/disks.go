package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// disksPerWorker is how many disks a worker has for blocking partitions.
const disksPerWorker = 2

// disks models the disks of a worker, and its server of finished partitions. Task hosts write files, which outlive them; the
// TaskExecutor says which ones it serves.
type disks struct {
	k      *worker
	jitter *rand.Rand
	files  map[string]*stored        // by path
	served map[served]string         // paths
	flows  []*flow                   // that read from here
	broken [disksPerWorker]time.Time // until when nothing can be written
	turn   int                       // the disk of the next file
}

// stored is the file of a blocking partition.
type stored struct {
	job      ids.JobID
	channels [][][]byte // the records of each channel
	damaged  bool
}

// served names a partition among those of all jobs.
type served struct {
	job       ids.JobID
	partition ids.PartitionID
}

var _ taskexecutor.Partitions = (*disks)(nil)

func newDisks(k *worker) *disks {
	d := &disks{k: k, jitter: k.w.stream("disks of " + string(k.id)), files: make(map[string]*stored), served: make(map[served]string)}
	k.w.plane.servers[d.Address()] = d
	return d
}

// end is the end of the worker: its files go with the folders of its container.
func (d *disks) end() {
	if d.k.w.plane.servers[d.Address()] == d { // otherwise a later worker in the container has the address
		delete(d.k.w.plane.servers, d.Address())
	}
	d.cut()
	clear(d.files)
	clear(d.served)
}

// cut breaks the connections to consumers.
func (d *disks) cut() {
	d.k.w.plane.breakOff(d.flows, d.k.process, d.jitter)
	d.flows = nil
}

// Address implements taskexecutor.Partitions.
func (d *disks) Address() string {
	return d.k.node.nm.ID().Host + "/" + string(ids.PartitionHost(d.k.id))
}

// Make implements taskexecutor.Partitions. A directory on a disk that is broken cannot be made.
func (d *disks) Make(ids.HostID) error {
	for disk := range d.broken {
		if d.breaks(disk) {
			return fmt.Errorf("make directory on disk %d: %w", disk, syscall.EIO)
		}
	}
	return nil
}

func (d *disks) breaks(disk int) bool { return d.k.w.engine.Now().Before(d.broken[disk]) }

// Dirs implements taskexecutor.Partitions.
func (d *disks) Dirs(host ids.HostID) []string {
	dirs := make([]string, disksPerWorker)
	for disk := range dirs {
		dirs[disk] = fmt.Sprintf("disk%d/%s", disk, host)
	}
	return dirs
}

// path is the path of a file.
func (d *disks) path(f taskexecutor.PartitionFile) string {
	return path.Join(d.Dirs(f.Host)[f.Disk], f.Partition.String())
}

// Serve implements taskexecutor.Partitions.
func (d *disks) Serve(job ids.JobID, f taskexecutor.PartitionFile) {
	d.served[served{job, f.Partition}] = d.path(f)
}

// Remove implements taskexecutor.Partitions.
func (d *disks) Remove(job ids.JobID, files []taskexecutor.PartitionFile) error {
	for _, f := range files {
		d.k.w.watch.remove(d.k, served{job, f.Partition})
		delete(d.served, served{job, f.Partition})
		delete(d.files, d.path(f))
	}
	return nil
}

// Tidy implements taskexecutor.Partitions.
func (d *disks) Tidy(host ids.HostID, keep []ids.PartitionID) error {
	names := make(map[string]bool, len(keep))
	for _, p := range keep {
		names[p.String()] = true
	}
	maps.DeleteFunc(d.files, func(file string, _ *stored) bool {
		return writerOf(file) == string(host) && !names[path.Base(file)]
	})
	return nil
}

// readable reports whether a partition is served and in good order.
func (d *disks) readable(p served) bool {
	file := d.files[d.served[p]]
	return file != nil && !file.damaged
}

// intact reports whether a partition is readable, and its server is not frozen.
func (d *disks) intact(p served) bool { return d.readable(p) && !d.k.process.Frozen() }

// damage damages the file of a served partition.
func (d *disks) damage(of served) {
	if file := d.files[d.served[of]]; file != nil {
		file.damaged = true
	}
}

// fail damages all files of a disk, and lets nobody write there for a time.
func (d *disks) fail(disk int, lasts time.Duration) {
	d.k.w.prolong(&d.broken[disk], lasts)
	for file, s := range d.files {
		if strings.HasPrefix(file, fmt.Sprintf("disk%d/", disk)) {
			s.damaged = true
		}
	}
}

// list are the served partitions, in the order of their names.
func (d *disks) list() []served {
	return slices.SortedFunc(maps.Keys(d.served), func(a, b served) int {
		return strings.Compare(string(a.job)+" "+a.partition.String(), string(b.job)+" "+b.partition.String())
	})
}

// paths are the paths of all files, in their order.
func (d *disks) paths() []string { return slices.Sorted(maps.Keys(d.files)) }

// writerOf is the id of the task host that has written a file.
func writerOf(file string) string { return path.Base(path.Dir(file)) }

// askServer asks the server of a worker for a finished partition.
func (s *station) askServer(f *flow) {
	s.plane.w.watch.read(s, f.from)
	d := s.plane.servers[f.from.Address]
	if d == nil || !d.k.process.Alive() {
		s.later(s.process, func() { f.fail(f.lost(errRefused)) })
		return
	}
	d.flows = slices.DeleteFunc(d.flows, func(f *flow) bool { return f.done })
	d.flows = append(d.flows, f)
	s.later(d.k.process, func() { d.send(f, 0) })
}

// mostReading is how long it takes to read a record from a disk.
const mostReading = 500 * time.Millisecond

// Why a partition cannot be read.
var (
	errMissing = errors.New("this worker does not have it")
	errDamaged = errors.New("its checksum is wrong")
)

// send sends a record of a partition, and the next ones at the pace of the disk.
func (d *disks) send(f *flow, next int) {
	if f.done || f.gate.closed {
		return
	}
	w, to := d.k.w, f.gate.station.process
	asked := served{f.gate.station.job, f.from.Partition}
	if !d.readable(asked) {
		why := errMissing
		if d.served[asked] != "" {
			why = errDamaged
		}
		w.facts[NotRead]++
		w.engine.After(leastDelay, to, func() {
			f.fail(&exchange.PartitionLostError{Partition: f.from.Partition, Host: f.from.Host, Address: f.from.Address, Err: why})
		})
		return
	}
	records := d.files[d.served[asked]].channels[f.from.Channel]
	if next == len(records) {
		w.engine.After(leastDelay, to, f.finish)
		return
	}
	w.engine.After(leastDelay, to, func() {
		if !f.done {
			f.gate.records = append(f.gate.records, records[next])
			f.gate.tell()
		}
	})
	w.engine.After(between(d.jitter, time.Millisecond, mostReading), d.k.process, func() { d.send(f, next+1) })
}

// blockingPartition is an output of a task whose edge is blocking.
type blockingPartition struct {
	station  *station
	disk     int
	file     string
	channels [][][]byte
	written  msg.WrittenPartition
}

var _ taskhost.BlockingPartition = (*blockingPartition)(nil)

// BlockingPartition implements taskhost.DataPlane.
func (s *station) BlockingPartition(execution ids.ExecutionAttemptID, output, channels int, dirs []string) (taskhost.BlockingPartition, error) {
	id := ids.PartitionID{Execution: execution, Output: output}
	d := s.disks
	for range dirs {
		disk := d.turn % len(dirs)
		if d.turn++; d.breaks(disk) {
			continue
		}
		p := &blockingPartition{station: s, disk: disk, file: path.Join(dirs[disk], id.String()), channels: make([][][]byte, channels)}
		p.written.Output, p.written.Dir = output, disk
		d.files[p.file] = &stored{job: s.job, channels: p.channels}
		return p, nil
	}
	return nil, fmt.Errorf("write partition %s: %w", id, syscall.EIO)
}

// Channels implements operator.RecordWriter.
func (p *blockingPartition) Channels() int { return len(p.channels) }

// Emit implements operator.RecordWriter.
func (p *blockingPartition) Emit(_ context.Context, channel int, record []byte) error {
	p.channels[channel] = append(p.channels[channel], append([]byte(nil), record...))
	p.written.Records++
	p.written.Bytes += int64(len(record))
	return nil
}

// Flush implements operator.RecordWriter.
func (p *blockingPartition) Flush(context.Context) error { return nil }

// Finish implements taskhost.ResultPartition.
func (p *blockingPartition) Finish(context.Context) error {
	if f := p.station.disks.files[p.file]; f == nil || f.damaged {
		return fmt.Errorf("write %s: %w", p.file, syscall.EIO)
	}
	p.station.plane.w.facts[Partitions]++
	return nil
}

// Fail implements taskhost.ResultPartition. A task of a killed process leaves its file.
func (p *blockingPartition) Fail(error) {
	if p.station.process.Alive() {
		delete(p.station.disks.files, p.file)
	}
}

// Written implements taskhost.BlockingPartition.
func (p *blockingPartition) Written() msg.WrittenPartition { return p.written }

// Watch implements taskhost.ResultPartition.
func (p *blockingPartition) Watch(exchange.Watcher) {}

// Traffic implements taskhost.ResultPartition.
func (p *blockingPartition) Traffic() exchange.Traffic {
	return exchange.Traffic{Records: p.written.Records}
}

// Usage implements taskhost.ResultPartition.
func (p *blockingPartition) Usage() exchange.Usage { return exchange.Usage{} }
