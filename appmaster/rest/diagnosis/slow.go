package diagnosis

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// slowest returns the index of the vertex that makes a job slow, and that of the producer that waits most for it; -1: there is
// none.
//
// Back-pressure goes from a slow vertex against the flow to the sources. So the vertex is one that a back-pressured vertex
// writes to. If there are several, those in the middle wait themselves: that counts against them. If no vertex waits, it is
// the busiest one.
func slowest(d *msg.JobDetails, summaries []restapi.VertexSummary) (found, waits int) {
	found, waits = -1, -1
	if d.Status != msg.JobRunning {
		return found, waits
	}
	index := make(map[string]int, len(d.Vertices))
	for i := range d.Vertices {
		index[d.Vertices[i].ID] = i
	}
	best := 0.0
	for i := range summaries {
		activity := summaries[i].Activity
		if activity == nil || activity.MostBusy.Share < busy {
			continue
		}
		producer := waitsFor(&d.Vertices[i], index, summaries)
		score := activity.MostBusy.Share
		if producer >= 0 {
			score += 2 - activity.BackPressured // it comes before all vertices that nobody waits for
		}
		if found < 0 || score > best {
			found, waits, best = i, producer, score
		}
	}
	return found, waits
}

// waitsFor returns the index of the producer of a vertex whose tasks wait most for it; -1: none waits.
func waitsFor(v *msg.VertexDetails, index map[string]int, summaries []restapi.VertexSummary) int {
	most, share := -1, pressured
	for _, input := range v.Inputs {
		i, known := index[input.Vertex]
		if !known || i >= len(summaries) || summaries[i].Activity == nil {
			continue
		}
		if of := summaries[i].Activity.MostBackPressured.Share; of > share || most < 0 && of == share {
			most, share = i, of
		}
	}
	return most
}

func slowVertex(d *msg.JobDetails, summaries []restapi.VertexSummary, found, waits int) *restapi.SlowVertex {
	v, a := &d.Vertices[found], summaries[found].Activity
	slow := &restapi.SlowVertex{Vertex: v.ID, Subtask: a.MostBusy.Subtask, Busy: a.MostBusy.Share, Mean: a.Busy}
	var load string
	load, slow.Alone = loadOf(v, a)
	if waits < 0 {
		slow.Brief = fmt.Sprintf("Busiest is %s%s: %s", named(v.Name), cause(v, slow, summaries[found].Skew), load)
		slow.Words = slow.Brief + "."
		return slow
	}
	producer, pressure := &d.Vertices[waits], summaries[waits].Activity.MostBackPressured
	slow.Waits = &restapi.WaitingVertex{Vertex: producer.ID, Subtask: pressure.Subtask, Share: pressure.Share}
	slow.Brief = fmt.Sprintf("Slow at %s%s: %s", named(v.Name), cause(v, slow, summaries[found].Skew), load)
	slow.Words = fmt.Sprintf("%s. %s is back-pressured by it %s.", slow.Brief, named(producer.Name), pressureOf(producer, summaries[waits].Activity))
	return slow
}

// pressureOf says how much a vertex is back-pressured: the mean, which all views show beside the vertex, and the subtask that is
// far from it.
func pressureOf(v *msg.VertexDetails, a *restapi.VertexActivity) string {
	words := percent(a.BackPressured) + " of the time"
	if most := a.MostBackPressured; most.Share-a.BackPressured >= apart {
		words += fmt.Sprintf(", its %s %s", ofAll(most.Subtask, v.Parallelism), percent(most.Share))
	}
	return words
}

// cause is the end of "Slow at …", if one subtask has most of the work because of its key: it has most of the records or bytes, or it
// may have a key with records that take long.
func cause(v *msg.VertexDetails, slow *restapi.SlowVertex, skew *restapi.VertexSkew) string {
	switch {
	case !slow.Alone || !keyed(v):
		return ""
	case skew != nil && skew.Key && skew.Subtask == slow.Subtask:
		return ", because of a skewed key"
	}
	return ", perhaps because of a skewed key"
}

// loadOf says how busy the tasks of a vertex are now, and whether one subtask has most of the work. The numbers of a skew are sums
// since the start: beside them, a reader must see that these are not. Tasks that have finished are
// not measured.
func loadOf(v *msg.VertexDetails, a *restapi.VertexActivity) (words string, alone bool) {
	busiest := fmt.Sprintf("%s is now busy %s of the time", ofAll(a.MostBusy.Subtask, v.Parallelism), percent(a.MostBusy.Share))
	finished := v.Tasks[msg.ExecutionFinished]
	if a.Tasks == 1 {
		switch {
		case v.Parallelism == 1:
			return fmt.Sprintf("its task is now busy %s of the time", percent(a.Busy)), false
		case finished == v.Parallelism-1:
			return busiest + ", and is the last one that works", true
		}
		return busiest + ", and is the only one that runs", false
	}
	if others := (a.Busy*float64(a.Tasks) - a.MostBusy.Share) / float64(a.Tasks-1); a.MostBusy.Share >= unequal*others {
		return fmt.Sprintf("%s, %s %s: the work is not spread equally", busiest, othersOf(a.Tasks), percent(max(0, others))), true
	}
	words = fmt.Sprintf("its %d tasks are now busy %s of the time", a.Tasks, percent(a.Busy))
	if a.Tasks < v.Parallelism {
		words = fmt.Sprintf("%d of its %d tasks run, and are now busy %s of the time", a.Tasks, v.Parallelism, percent(a.Busy))
	}
	if a.MostBusy.Share-a.Busy >= apart {
		words += ", the busiest one " + percent(a.MostBusy.Share)
	}
	return words, false
}
