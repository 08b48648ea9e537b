// Package top is the live view of `bobbin top`: an application with its jobs, their vertices and its workers, on the
// whole screen of a terminal.
//
// Its Model is pure: Update takes an event and returns the next Model, Draw makes a picture of one, and Asks says what the
// user looks at, so that only that is asked for. Run is the loop around it. It asks the ApplicationMaster and YARN apart, so
// that neither waits for the other one's answer: one question to each at a time, in a goroutine that ends before Run does.
package top

import (
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Application is what its ApplicationMaster tells of an application.
type Application struct {
	ID                       string
	Attempt                  int32 // of its ApplicationMaster
	Version                  string
	Workers, Slots, Free     int
	Running, Finished, Other int // jobs
}

// Report is what YARN tells of an application.
type Report struct {
	Name, Queue, State string
	Started            time.Time
	Attempt            int32 // of its ApplicationMaster
}

// Subtask is a subtask of the vertex that the user has opened.
type Subtask struct {
	Index, Attempt int // from 0
	State          msg.ExecutionState
	Node           string
	Read, Written  live.Amount
	Lasts          time.Duration
	Measured       bool // the shares of the time are known
	Busy, Pressed  float64
}

// Worker is a worker with what its process uses.
type Worker struct {
	client.Worker
	client.Load
}

// Look is what one look at the ApplicationMaster has found.
type Look struct {
	At          time.Time // by this machine's clock
	Partial     bool      // the look goes on: what is not here is not known yet
	Application Application
	Jobs        []client.JobOverview
	Workers     []Worker
	Job         *live.Job // of Asked; nil if it is unknown
	Waits       string    // why that job waits; "" if it does not
	Cause       string    // why that job failed, or restarted last
	Vertex      string    // whose subtasks these are; "" without
	Subtasks    []Subtask
}

// Event is one of the events below.
type Event interface{ event() }

// Events.
type (
	// Pressed is a key.
	Pressed struct{ Key keyboard.Key }
	// Sized is a size of the terminal, in cells.
	Sized struct{ Columns, Lines int }
	// Passed is the time, every second.
	Passed struct{ Now time.Time }
	// Looked is what a look has found.
	Looked struct{ Look }
	// Reported is an answer of YARN.
	Reported struct {
		At time.Time
		Report
	}
	// Unheard is a question that YARN has not answered.
	Unheard struct{}
	// Missed is a look that got no answer. Replacing says that YARN replaces the ApplicationMaster.
	Missed struct {
		Words     string
		Replacing bool
	}
	// Refused says that there is nothing to look at for this user. It ends a view that has shown nothing yet.
	Refused struct{ Err error }
	// Over says that the application has ended. Nothing changes any more.
	Over struct{ State, Words string }
)

func (Pressed) event()  {}
func (Sized) event()    {}
func (Passed) event()   {}
func (Looked) event()   {}
func (Reported) event() {}
func (Unheard) event()  {}
func (Missed) event()   {}
func (Refused) event()  {}
func (Over) event()     {}

// panel is a part of the view that the user can go to.
type panel int

const (
	panelJobs panel = iota
	panelVertices
	panelWorkers
	panels // their number
)

// Model is the state of the view. Update never changes the slices of an earlier one.
type Model struct {
	Look
	Now            time.Time
	Columns, Lines int
	Quit           bool // the user has had enough
	Paused         bool

	yarn     Report
	reported time.Time // when YARN reported last; zero: never
	unheard  bool      // YARN has not answered the last question
	seen     bool      // there was a look
	looks    int       // their number
	words    string    // why there is no newer one; "": there is
	over     bool
	refused  error // why there will be no look; nil: there may be one
	help     bool
	typing   bool // the filter
	focus    panel
	open     bool           // the subtasks of the chosen vertex are shown
	chosen   [panels]string // ids; "": the first
	sorts    [panels]int    // index into orders
	filter   [panels]string
	scroll   int // the first subtask
	rows
}

// New is the view before the first look.
func New(application string, now time.Time) Model {
	return Model{Look: Look{Application: Application{ID: application}}, Now: now, Columns: 80, Lines: 24}
}

// Asked is what a look should ask for, besides the lists.
type Asked struct {
	Job     ids.JobID // "": the one that the view would choose
	Vertex  string    // whose subtasks; "": none
	Workers []string  // whose load
}

// mostLoads is the number of workers whose load one look asks for.
const mostLoads = 12

// Asks tells what the user looks at.
func (m Model) Asks() Asked {
	a := Asked{Job: ids.JobID(m.id(panelJobs))}
	if m.open {
		a.Vertex = m.id(panelVertices)
	}
	from := max(0, min(m.index[panelWorkers]-mostLoads/2, len(m.workers)-mostLoads))
	for _, w := range m.workers[from:min(len(m.workers), from+mostLoads)] {
		a.Workers = append(a.Workers, w.ID)
	}
	return a
}

// Update is the view after an event. After the end it only follows the user.
func Update(m Model, e Event) Model {
	switch e := e.(type) {
	case Pressed:
		m = m.press(e.Key)
		m.arrange()
	case Sized:
		m.Columns, m.Lines = e.Columns, e.Lines
	case Passed:
		m.Now = e.Now
	default:
		if !m.over {
			m.hear(e)
			m.arrange()
		}
	}
	return m
}

// hear takes the news of an application in.
func (m *Model) hear(e Event) {
	switch e := e.(type) {
	case Looked:
		m.take(e.Look)
	case Reported:
		m.yarn, m.reported, m.unheard = e.Report, e.At, false
	case Unheard:
		m.unheard = true
	case Missed:
		m.words = e.Words
		if e.Replacing {
			m.words = "the master is being replaced: " + e.Words
		}
	case Refused:
		if m.words = e.Err.Error(); !m.seen {
			m.refused = e.Err
		}
	case Over:
		m.over, m.words, m.yarn.State = true, e.Words, e.State
	}
}

// take takes a look in. Loads of workers that it did not ask for stay as they were, and so do the parts that a look has not
// found yet: the view is then as old as they are.
func (m *Model) take(l Look) {
	if l.Partial && m.seen {
		l.At = m.At
	}
	if l.Partial && l.Job == nil {
		l.Job, l.Waits, l.Cause, l.Vertex, l.Subtasks = m.Job, m.Waits, m.Cause, m.Vertex, m.Subtasks
	}
	if l.Partial {
		l.Workers = m.Workers
	}
	before := make(map[string]client.Load, len(m.Workers))
	for _, w := range m.Workers {
		before[w.ID] = w.Load
	}
	for i, w := range l.Workers {
		if !w.Known {
			l.Workers[i].Load = before[w.ID]
		}
	}
	m.Look, m.seen, m.words = l, true, ""
	m.looks++
}

// rests tells that nothing is asked now.
func (m Model) rests() bool { return m.Paused || m.over }

// oldAge is from when on the view tells how old it is. Some looks at a busy ApplicationMaster are as far apart.
const oldAge = 10 * time.Second

// old is how old the view is; 0 if that is not worth a word.
func (m Model) old() time.Duration {
	age := m.Now.Sub(m.At)
	if !m.seen || m.over || age < oldAge && (m.words == "" || age < time.Second) {
		return 0
	}
	return age
}
