package jobmaster

import (
	"cmp"
	"slices"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// The model of blocking partitions. A worker holds what its tasks have written, until the core releases it or the worker dies. A task
// reads what its deployment names, at its end. The model would catch: a task that is deployed before its inputs are there; a partition
// that is released while a task reads it; a task that waits for a partition for ever. Each task remembers the attempts that it has
// read. So it would also catch a result in which the records of a split are missing, or are there twice, because attempts
// are combined that do not belong together.

// modelInput is what a task reads from one producer.
type modelInput struct {
	producer  ids.ExecutionAttemptID
	partition ids.PartitionID
	blocking  bool
	at        *modelWorker // where it is, if it is blocking
}

func (w *modelWorker) registration() msg.Message {
	return msg.RegisterAtJobMaster{Resource: w.peer.Resource, Host: w.node, PartitionAddress: string(w.peer.Resource) + ":1"}
}

// cutOff lets the core lose the connection to a worker that lives. The worker finds only the next master.
func (m *model) cutOff(w *modelWorker) {
	if !w.alive || !w.connected {
		return
	}
	w.connected, w.outbox = false, nil
	for _, task := range m.tasks {
		if task.worker == w {
			task.over = true
		}
	}
	m.step(taskExecutorDisconnected{From: w.peer, Cause: "no route to host"})
	m.gone(w)
	m.advance(lossGrace)
	m.survivors = append(m.survivors, w)
	m.cut = append(m.cut, w)
}

// survive notes the workers that live when their master dies.
func (m *model) survive() {
	m.cut = nil
	for _, w := range append(m.survivors, m.workers...) {
		if w.alive && !slices.Contains(m.survivors, w) {
			m.survivors = append(m.survivors, w)
		}
	}
}

// comeBack lets a worker of the last master connect to this one.
func (m *model) comeBack() {
	i := slices.IndexFunc(m.survivors, func(w *modelWorker) bool { return !slices.Contains(m.cut, w) })
	if i < 0 || m.ended != nil {
		return
	}
	w := m.survivors[i]
	m.survivors = slices.Delete(m.survivors, i, i+1)
	m.names++
	w.peer.Connection, w.connected, w.host, w.known, w.slots = actor.ConnectionID(m.names), true, "", "", nil
	w.outbox = []msg.Message{w.registration()}
	var held msg.HeldPartitions
	forgets := m.oneIn(4) // tasks without partitions
	for id, task := range m.tasks {
		if task.worker == w && task.finished && !m.config.Graph.Vertices[id.Vertex].Commit {
			change := msg.TaskStateChange{Execution: id, State: msg.ExecutionFinished, Counters: map[string]int64{"tasks": 1}, Inputs: task.reads}
			for p := range w.held {
				if p.Execution == id {
					change.Partitions = append(change.Partitions, msg.WrittenPartition{Output: p.Output})
				}
			}
			if !forgets || len(change.Partitions) > 0 {
				held.Tasks = append(held.Tasks, change)
			}
		}
	}
	slices.SortFunc(held.Tasks, func(a, b msg.TaskStateChange) int { return a.Execution.Compare(b.Execution) })
	w.outbox = append(w.outbox, held, msg.HeldPartitions{Last: true})
	m.workers = append(m.workers, w)
}

// allReturned lets the ResourceManager say which workers of the last masters have partitions. It may not know some: YARN has not listed
// them.
func (m *model) allReturned() {
	if len(m.workers)+len(m.survivors) == 0 || m.epochs == 1 {
		return
	}
	said := msg.PreviousWorkersReturned{Job: m.config.Job}
	for _, w := range slices.Concat(m.survivors, m.workers) {
		if len(w.held) > 0 && !m.oneIn(5) {
			said.Workers = append(said.Workers, w.peer.Resource)
		}
	}
	m.step(resourceManagerSaid{said})
	if len(said.Workers) == 0 && m.core.awaitsHeld {
		m.t.Fatal("no worker has partitions, and the job waits for some")
	}
}

// place notes what the tasks of a deployment read.
func (m *model) place(d msg.DeployTasks, table *placement.Table) {
	g := m.core.config.Graph // its exchanges may be blocking now
	for _, deployed := range d.Tasks {
		if deployed.Winners != nil {
			continue
		}
		task := m.tasks[deployed.Execution]
		for _, edge := range g.Inputs(jobgraph.VertexID(deployed.Execution.Vertex)) {
			for s := range g.Vertices[edge.From].Parallelism {
				if edge.Pattern == jobgraph.Pointwise && s != deployed.Execution.Subtask {
					continue
				}
				find := table.Find
				if edge.Kind == jobgraph.Blocking {
					find = table.FindPartitions
				}
				producer, host, found := find(int(edge.From), s)
				if !found {
					m.t.Fatalf("%s is not told where it reads subtask %d of vertex %d", deployed.Execution, s, edge.From)
				}
				input := modelInput{
					producer: producer, partition: ids.PartitionID{Execution: producer, Output: edge.Output}, blocking: edge.Kind == jobgraph.Blocking,
				}
				if input.blocking {
					m.checkPlace(deployed.Execution, &input, host)
				}
				task.inputs = append(task.inputs, input)
			}
		}
	}
}

// checkPlace checks that a partition is where its reader is told to read it.
func (m *model) checkPlace(reader ids.ExecutionAttemptID, input *modelInput, server placement.Host) {
	for _, w := range m.servers { // it may be gone, and the core waits for the reason
		if ids.PartitionHost(w.peer.Resource) == server.ID {
			input.at = w
		}
	}
	switch producer := m.tasks[input.producer]; {
	case input.at == nil:
		m.t.Fatalf("%s is told to read %s at %s, which no worker is", reader, input.partition, server.ID)
	case m.released[input.partition]:
		m.t.Fatalf("%s is deployed, and %s is released", reader, input.partition)
	case producer == nil || !producer.finished || producer.worker != input.at:
		m.t.Fatalf("%s is deployed before %s is there", reader, input.partition)
	}
}

// read lets a task read its inputs. It may find one damaged.
func (m *model) read(task *modelTask, mayFail bool) *msg.Failure {
	for _, in := range task.inputs {
		switch {
		case !in.blocking || task.prepared: // it has read before it asked for leave
		case !in.at.alive:
			return &msg.Failure{Message: "connection refused", PeerLost: ids.PartitionHost(in.at.peer.Resource)}
		case !in.at.held[in.partition]:
			return &msg.Failure{Message: "it is not there", PartitionLost: &in.partition}
		case mayFail && m.oneIn(40):
			return &msg.Failure{Message: "wrong checksum", PartitionLost: &in.partition}
		}
	}
	return nil
}

// sent tells whether a task can receive all its inputs. A task may send its last records before it reports its end.
func (m *model) sent(task *modelTask) bool {
	for _, in := range task.inputs {
		producer := m.tasks[in.producer]
		if in.blocking || producer != nil && producer.complete {
			continue
		}
		if producer == nil || producer.over && !producer.finished || m.config.Graph.Vertices[in.producer.Vertex].Source && !producer.exhausted || !m.sent(producer) {
			return false
		}
		producer.complete = true
	}
	return true
}

// writes are the partitions that a task has written at its end.
func (m *model) writes(id ids.ExecutionAttemptID) (written []msg.WrittenPartition) {
	for _, edge := range m.core.config.Graph.Outputs(jobgraph.VertexID(id.Vertex)) {
		if edge.Kind == jobgraph.Blocking {
			written = append(written, msg.WrittenPartition{Output: edge.Output})
		}
	}
	return written
}

// finish notes that a task has finished, and that its worker serves what it has written.
func (m *model) finish(w *modelWorker, id ids.ExecutionAttemptID, task *modelTask) {
	task.finished = true
	for _, written := range m.writes(id) {
		if w.held == nil {
			w.held = make(map[ids.PartitionID]bool)
		}
		w.held[ids.PartitionID{Execution: id, Output: written.Output}] = true
	}
}

// damage loses a partition of a worker that lives.
func (m *model) damage(w *modelWorker) {
	var held []ids.PartitionID
	for p := range w.held {
		held = append(held, p)
	}
	slices.SortFunc(held, func(a, b ids.PartitionID) int {
		return cmp.Or(a.Execution.Compare(b.Execution), a.Output-b.Output)
	})
	if len(held) > 0 {
		delete(w.held, rapid.SampledFrom(held).Draw(m.t, "damaged"))
	}
}

// release removes partitions of a worker. No task may read them.
func (m *model) release(w *modelWorker, partitions []ids.PartitionID) {
	for _, p := range partitions {
		for id, task := range m.tasks {
			if !task.over && !task.cancel && !task.prepared && slices.ContainsFunc(task.inputs, func(in modelInput) bool { return in.blocking && in.partition == p }) {
				m.t.Fatalf("%s is released while %s reads it", p, id)
			}
		}
		m.released[p] = true
		delete(w.held, p)
	}
}

// checkCovered checks that no task runs that the record of another region has.
func (m *model) checkCovered(d msg.TaskDeployment, region int) {
	for r, commit := range m.records {
		record, err := commitrecord.Decode(commit.Record)
		if err == nil && r != region && slices.Contains(record.Regions, region) {
			m.t.Fatalf("%s is deployed, and the record of region %d has its region", d.Execution, r)
		}
	}
}

// checkContents checks that the sinks have the records of each split as often as the edges bring them there.
func (m *model) checkContents() {
	g := m.config.Graph
	times := make([]map[int]int, len(g.Vertices)) // how often the subtasks of a vertex get the records of a source together
	for v, vertex := range g.Vertices {
		times[v] = make(map[int]int)
		if vertex.Source {
			times[v][v] = 1
		}
		inputs := g.Inputs(jobgraph.VertexID(v))
		for _, edge := range inputs {
			for source, n := range times[edge.From] {
				if edge.Pattern == jobgraph.AllToAll {
					n *= vertex.Parallelism
				}
				times[v][source] += n
			}
		}
		if len(g.Outputs(jobgraph.VertexID(v))) > 0 || vertex.Commit {
			continue
		}
		got := make(map[string]int)
		for s := range vertex.Parallelism {
			m.addContents(m.counts(v, s), got)
		}
		for source, n := range times[v] {
			for _, split := range g.Vertices[source].Splits {
				if got[split.Base] != n {
					m.t.Errorf("vertex %d has the records of split %s %d times, want %d", v, split.Base, got[split.Base], n)
				}
			}
		}
	}
}

// counts is the attempt of a subtask that counts: the core may have adopted an earlier one than the last.
func (m *model) counts(vertex, subtask int) ids.ExecutionAttemptID {
	if e := m.core.graph.Vertex(vertex)[subtask]; m.tasks[e.ID] != nil && m.tasks[e.ID].finished {
		return e.ID
	}
	if id, pinned := m.pinned[[2]int{vertex, subtask}]; pinned {
		return id
	}
	return m.attempts[[2]int{vertex, subtask}]
}

// pin notes which attempts a record has.
func (m *model) pin(stored storeCommit) {
	if m.pinned == nil {
		m.pinned = make(map[[2]int]ids.ExecutionAttemptID)
	}
	for v, vertex := range m.config.Graph.Vertices {
		for s := range vertex.Parallelism {
			if r := m.core.graph.Vertex(v)[s].Region; !vertex.Commit && (r == stored.Region || slices.Contains(stored.Record.Regions, r)) {
				m.pinned[[2]int{v, s}] = m.counts(v, s)
			}
		}
	}
}

// addContents counts the splits whose records an attempt has got.
func (m *model) addContents(id ids.ExecutionAttemptID, to map[string]int) {
	task := m.tasks[id]
	if task == nil || !task.finished && !task.complete {
		m.t.Fatalf("%s has not finished, and the job has", id)
	}
	for _, split := range task.splits {
		to[split]++
	}
	for _, in := range task.inputs {
		m.addContents(in.producer, to)
	}
}
