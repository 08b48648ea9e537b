package diagnosis

import (
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// measure is a number of which one subtask may have too much.
type measure struct {
	name       string // in answers
	least      int64  // less than this is too little to judge: records, bytes, ms
	verb, noun string
	of         func(*restapi.VertexSpread) *restapi.SubtaskSpread
}

// busyTime is the measure that tells of heavy records, not of many.
const busyTime = "busy-time"

// read is the verb of what a subtask gets, and does not make itself.
const read = "read"

// measures in the order in which they are judged: records are the cause, bytes and times follow from them.
var measures = []measure{ //nolint:gochecknoglobals // a constant table
	{"read-records", 1000, read, "records", func(s *restapi.VertexSpread) *restapi.SubtaskSpread { return &s.ReadRecords }},
	{"write-records", 1000, "wrote", "records", func(s *restapi.VertexSpread) *restapi.SubtaskSpread { return &s.WriteRecords }},
	{"read-bytes", 1 << 20, read, "bytes", func(s *restapi.VertexSpread) *restapi.SubtaskSpread { return &s.ReadBytes }},
	{busyTime, 5000, "did", "work", func(s *restapi.VertexSpread) *restapi.SubtaskSpread { return &s.BusyTime }},
}

// judge completes the spread of a vertex with a number of subtasks: what is usual, and from which amount on a subtask is an
// outlier.
func judge(spread *restapi.VertexSpread, subtasks int) {
	for _, m := range measures {
		s := m.of(spread)
		switch {
		case subtasks > fewSubtasks:
			s.Usual = s.Median
		case subtasks > 1:
			s.Usual = (s.Sum - s.Most) / int64(subtasks-1)
		default:
			s.Usual = s.Most
		}
		s.Outlier = max(m.least, outlier*min(s.Usual, math.MaxInt64/outlier))
	}
}

// skew finds the first number of which one subtask of a vertex has far more than what is usual; nil: none has. The spread is
// judged.
func skew(v *msg.VertexDetails, spread *restapi.VertexSpread) *restapi.VertexSkew {
	if v.Parallelism < 2 {
		return nil
	}
	for _, m := range measures {
		s := m.of(spread)
		if s.Most < s.Outlier {
			continue
		}
		found := &restapi.VertexSkew{
			Of: m.name, Subtask: s.Subtask, Key: m.verb == read && keyed(v),
			Share: float64(s.Most) / float64(max(s.Sum, s.Most)), // a sum that is too large is negative
		}
		found.Brief = fmt.Sprintf("%s: %s %s %s of all %s", title(found), ofAll(s.Subtask, v.Parallelism), m.verb, percent(found.Share), m.noun)
		found.Words = found.Brief + " since the start, " + times(s, v.Parallelism) + "." + advice(found)
		return found
	}
	return nil
}

// title names what is skewed.
func title(found *restapi.VertexSkew) string {
	if found.Key {
		return "Skewed key"
	}
	return "Skew"
}

// times compares the most with the usual amount.
func times(s *restapi.SubtaskSpread, subtasks int) string {
	others, usual := othersOf(subtasks), "the median"
	if subtasks <= fewSubtasks {
		usual = others
	}
	switch n := float64(s.Most) / float64(s.Usual); {
	case s.Usual == 0 && s.Most == s.Sum:
		return "and " + others + " nothing"
	case s.Usual == 0:
		return "and most of the others nothing"
	case n < 100:
		return fmt.Sprintf("%.1f times %s", n, usual)
	default:
		return fmt.Sprintf("%.0f times %s", n, usual)
	}
}

// advice says what follows from a skew.
func advice(found *restapi.VertexSkew) string {
	switch {
	case found.Of == busyTime:
		return " Its records take longer than those of the others."
	case found.Key:
		return " All records of a key go to one subtask, so more subtasks do not help."
	}
	return ""
}
