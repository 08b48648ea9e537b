package uber

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/testing/transcript"
)

var rewrite = flag.Bool("rewrite", false, "write transcripts anew")

const (
	testContainer = "c"
	testHost      = "here"
)

var (
	testSpec  = resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1}
	largeSpec = resourcemanager.WorkerResourceSpec{MemoryMB: 4096, VCores: 4, Slots: 4}
)

func TestCoreTranscripts(t *testing.T) {
	transcript.Run(t, *rewrite, func(t *testing.T) func(string) []string {
		s := script{t, newCore(testContainer, testSpec, testHost)}
		return s.command
	})
}

// script drives a core by commands, as its transcripts have them:
//
//	order TOTAL [large=TOTAL] [release=ID,…] [check=ID,…] [avoid=HOST,…]
//	elsewhere NUMBER                   workers of the other provider have started
//	ended|unstarted ID CAUSE
type script struct {
	t    *testing.T
	core *core
}

func (s script) command(line string) []string {
	s.t.Helper()
	options := map[string]string{}
	var args []string
	for word := range strings.FieldsSeq(line) {
		if name, value, is := strings.Cut(word, "="); is {
			options[name] = value
		} else {
			args = append(args, word)
		}
	}
	var e event
	switch args[0] {
	case "order":
		e = ordered{orders: s.orders(args[1], options)}
	case "elsewhere":
		e = startedElsewhere{s.number(args[1])}
	case "ended", "unstarted":
		e = ended{worker: ids.ResourceID(args[1]), unstarted: args[0] == "unstarted", cause: strings.Join(args[2:], " ")}
	default:
		s.t.Fatalf("unknown command %q", line)
	}
	var lines []string
	for _, effect := range s.core.Step(time.Time{}, e) {
		lines = append(lines, describe(effect))
	}
	return lines
}

func (s script) orders(total string, options map[string]string) resourcemanager.Orders {
	list := func(name string) []string {
		return strings.FieldsFunc(options[name], func(r rune) bool { return r == ',' })
	}
	o := resourcemanager.Orders{Workers: []resourcemanager.WorkerOrder{{Spec: testSpec, Total: s.number(total)}}, Avoid: list("avoid")}
	if large := options["large"]; large != "" {
		o.Workers = append([]resourcemanager.WorkerOrder{{Spec: largeSpec, Total: s.number(large)}}, o.Workers...)
	}
	for _, id := range list("release") {
		o.Release = append(o.Release, resourcemanager.Release{Worker: ids.ResourceID(id)})
	}
	for _, id := range list("check") {
		o.Check = append(o.Check, ids.ResourceID(id))
	}
	return o
}

func (s script) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func describe(e effect) string {
	switch e := e.(type) {
	case report:
		switch e := e.event.(type) {
		case resourcemanager.PreviousWorkers:
			text := "report previous"
			for _, p := range e.Workers {
				text += " " + string(p.Worker)
			}
			return text
		case resourcemanager.WorkerStarting:
			return fmt.Sprintf("report %s starting on %s", e.Worker, e.Host)
		case resourcemanager.WorkerFailed:
			return fmt.Sprintf("report %s failed: %s", e.Worker, e.Cause)
		case resourcemanager.WorkerCompleted:
			return fmt.Sprintf("report %s completed: %s", e.Worker, e.Cause)
		}
	case start:
		return fmt.Sprintf("start %s", e.worker)
	case stop:
		return fmt.Sprintf("stop %s", e.worker)
	case reply:
		o := e.Content().(resourcemanager.Orders)
		line := "others:"
		for _, w := range o.Workers {
			if w.Spec == largeSpec {
				line += fmt.Sprintf(" large=%d", w.Total)
			} else {
				line += fmt.Sprintf(" total=%d", w.Total)
			}
		}
		for _, r := range o.Release {
			line += " release=" + string(r.Worker)
		}
		for _, id := range o.Check {
			line += " check=" + string(id)
		}
		return line
	}
	return fmt.Sprintf("%#v", e)
}

// TestOrdersAreServedOnce compares a core with counts. It would catch a worker that is started twice, or not
// at all, when orders, starts of the other provider and ends cross; a second worker in the container; and one
// that starts while jobs avoid the node.
func TestOrdersAreServedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCore(testContainer, testSpec, testHost)
		var (
			here      ids.ResourceID // runs here
			told      bool           // here was told to end
			starts    int            // here
			elsewhere int
			others    int // ordered from the other provider
			total     int
			last      resourcemanager.Orders
		)
		step := func(t *rapid.T, e event) {
			released := false
			for _, effect := range c.Step(time.Time{}, e) {
				switch effect := effect.(type) {
				case start:
					if here != "" || slices.Contains(last.Avoid, testHost) {
						t.Fatalf("%s starts beside %q while %v are avoided", effect.worker, here, last.Avoid)
					}
					here, told = effect.worker, false
					starts++
				case stop:
					if effect.worker != here || told {
						t.Fatalf("%s is told to end, and %q runs (told: %t)", effect.worker, here, told)
					}
					told, released = true, true
				case reply:
					others = effect.Content().(resourcemanager.Orders).Workers[0].Total
				case report:
				}
			}
			if _, is := e.(ordered); !is {
				return
			}
			asked := slices.ContainsFunc(last.Release, func(r resourcemanager.Release) bool { return r.Worker == here })
			if asked && !told && !released && here != "" {
				t.Fatalf("%s is not told to end", here)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"order": func(t *rapid.T) {
				total = starts + elsewhere + rapid.IntRange(0, 3).Draw(t, "missing")
				last = resourcemanager.Orders{Workers: []resourcemanager.WorkerOrder{{Spec: testSpec, Total: total}}}
				if rapid.Bool().Draw(t, "avoid") {
					last.Avoid = []string{testHost}
				}
				if here != "" && rapid.Bool().Draw(t, "release") {
					last.Release = []resourcemanager.Release{{Worker: here}}
				}
				step(t, ordered{orders: last})
			},
			"elsewhere": func(t *rapid.T) {
				if elsewhere >= others {
					t.Skip("all have started")
				}
				elsewhere++
				step(t, startedElsewhere{1})
			},
			"end": func(t *rapid.T) {
				if here == "" {
					t.Skip("nothing runs")
				}
				ending := here
				here = ""
				step(t, ended{worker: ending, unstarted: rapid.Bool().Draw(t, "unstarted")})
			},
			"": func(t *rapid.T) {
				owed := 0
				if c.owed {
					owed = 1
				}
				if sum := starts + owed + others; sum != max(total, starts) {
					t.Fatalf("%d started here, %d owed, %d ordered elsewhere, of %d", starts, owed, others, total)
				}
				if free := here == "" || told; free && !slices.Contains(last.Avoid, testHost) && here == "" && c.owed {
					t.Fatal("the container is free, and a worker waits for it")
				}
			},
		})
	})
}
