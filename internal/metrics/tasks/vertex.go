package tasks

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// OfVertex are the samples of what the deployed subtasks of a vertex do together, in its scope. Counts, rates and queues are sums,
// and the times of each second are means over the subtasks that are measured now. Shares have no sum, and are left out.
//
// Of the users' metrics it has the sums of counters, and of the counts of meters, by operator: gauges and distributions have no sum.
// It makes at most room of these sums, and returns how many it has made. numMetricsDropped also counts the metrics without room.
func OfVertex(scope metrics.Scope, v msg.VertexSubtasks, room int) (samples []metrics.Sample, made int) {
	var sums, means, one []metrics.Sample
	measured := 0
	user := userSums{scope: scope, operators: v.Operators, room: room, at: make(map[userKey]int)}
	for _, s := range v.Subtasks {
		if s.Resource == "" {
			continue
		}
		one = appendAdditive(one[:0], scope, s.Sample, s.Times)
		sums = plus(sums, one)
		times, is := spent(scope, s.Sample)
		if is || means == nil {
			means = plus(means, times[:])
		}
		if is {
			measured++
		}
		user.add(s.User)
	}
	if sums == nil {
		return nil, 0
	}
	for i := range means {
		means[i].Value /= float64(max(measured, 1))
	}
	samples = append(append(append(sums, means...), user.sums...),
		metrics.Sample{Scope: scope, Name: "numMetricsDropped", Kind: metrics.KindGauge, Value: float64(user.dropped)})
	return samples, len(user.sums)
}

// plus adds samples to sums of the same ones; nil: there are none yet.
func plus(sums, samples []metrics.Sample) []metrics.Sample {
	if sums == nil {
		return slices.Clone(samples)
	}
	for i := range sums {
		sums[i].Value += samples[i].Value
	}
	return sums
}

// userSums are sums of users' counters, in the order in which subtasks bring them.
type userSums struct {
	scope     metrics.Scope
	operators []string
	room      int
	sums      []metrics.Sample
	at        map[userKey]int // in sums
	dropped   int
}

type userKey struct {
	operator int
	kind     metrics.Kind
	name     string
}

func (u *userSums) add(m *msg.UserMetrics) {
	if m == nil {
		return
	}
	u.dropped += m.Dropped
	for _, one := range m.Metrics {
		name, value, counts := one.Count()
		if !counts || one.Operator >= len(u.operators) { // a job that has ended
			continue
		}
		key := userKey{one.Operator, one.Kind, one.Name}
		at, known := u.at[key]
		if !known {
			if len(u.sums) == u.room {
				u.dropped++
				continue
			}
			at = len(u.sums)
			u.at[key] = at
			u.sums = append(u.sums, metrics.Sample{Scope: operatorScope(u.scope, one.Operator, u.operators[one.Operator]), Name: name, Kind: metrics.KindCounter})
		}
		u.sums[at].Value += value
	}
}
