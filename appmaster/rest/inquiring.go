package rest

import (
	"context"
	"sync"
)

// inquiring are the places of a room for answers that ask other processes. An answer has one place in all, and one at the process
// that it asks. So a process that is stopped holds one place, and not those for questions to others. A disk that hangs holds no place
// of the questions that a process answers from memory: its stacks tell why the disk hangs. Samplings of the tasks of a job
// ask many processes. They have places of their own, and a job holds one of them.
//
// Make one with newInquiring. Any goroutine may use it.
type inquiring struct {
	places    chan struct{} // capacity maxInquiring: holds a token for each answer that asks
	disks     chan struct{} // capacity maxInquiring: holds a token for each answer that asks for what is on a disk
	samplings chan struct{} // capacity maxSampling: likewise

	mu        sync.Mutex // guards what follows, and users of each askedProcess
	processes map[string]*askedProcess
}

// askedProcess is a process, or its disk, that answers ask, or wait to ask; or the tasks of a job.
type askedProcess struct {
	of    *inquiring
	name  string
	turn  chan struct{} // capacity 1: holds a token while an answer asks
	users int           // answers that have the turn or wait for it
}

func newInquiring() *inquiring {
	return &inquiring{
		places: make(chan struct{}, maxInquiring), disks: make(chan struct{}, maxInquiring), samplings: make(chan struct{}, maxSampling), processes: make(map[string]*askedProcess),
	}
}

// wait waits for the turn at a process. The error is the cause of ctx.
func (i *inquiring) wait(ctx context.Context, process string) (*askedProcess, error) {
	one := i.join(process)
	select {
	case one.turn <- struct{}{}:
		return one, nil
	case <-ctx.Done():
		one.part()
		return nil, context.Cause(ctx)
	}
}

func (i *inquiring) join(process string) *askedProcess {
	i.mu.Lock()
	defer i.mu.Unlock()
	one := i.processes[process]
	if one == nil {
		one = &askedProcess{of: i, name: process, turn: make(chan struct{}, 1)}
		i.processes[process] = one
	}
	one.users++
	return one
}

// part removes an answer that has no turn.
func (a *askedProcess) part() {
	a.of.mu.Lock()
	defer a.of.mu.Unlock()
	if a.users--; a.users == 0 {
		delete(a.of.processes, a.name)
	}
}

// leave gives the turn to the next answer.
func (a *askedProcess) leave() {
	<-a.turn
	a.part()
}
