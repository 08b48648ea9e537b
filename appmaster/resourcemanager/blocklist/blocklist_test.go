package blocklist

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestBlocklistAgainstSets compares with a set of nodes for each job. It would catch a node that is
// blocked for a job because another job has blocked it, a block that outlives its job, and a
// difference between the blocks and the blacklist at YARN.
func TestBlocklistAgainstSets(t *testing.T) {
	t.Parallel()
	nodes := []string{"n0", "n1", "n2"}
	rapid.Check(t, func(t *rapid.T) {
		b := New()
		jobs := make(map[ids.JobID]map[string]int) // minute in which each block ends
		var told []string
		yarn := make(map[string]bool) // the blacklist at YARN
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			job := ids.JobID(rapid.SampledFrom([]string{"j1", "j2"}).Draw(t, "job"))
			jobs[job] = rapid.MapOf(rapid.SampledFrom(nodes), rapid.IntRange(1, 9)).Draw(t, "blocked")
			var list []msg.BlockedNode
			for _, node := range slices.Sorted(maps.Keys(jobs[job])) {
				list = append(list, msg.BlockedNode{Node: node, Until: time.Unix(0, 0).Add(time.Duration(jobs[job][node]) * time.Minute)})
			}
			b.Set(job, list)

			ends := make(map[string]int)
			for job, blocked := range jobs {
				for node, end := range blocked {
					ends[node] = max(ends[node], end)
					if !b.Blocks(job, node) {
						t.Fatalf("%s does not block %s", job, node)
					}
				}
				if got, want := b.Exhausted(job, nodes), len(blocked) == len(nodes); got != want {
					t.Fatalf("%s has no node left: %t, with %v blocked of %v", job, got, blocked, nodes)
				}
				if b.Exhausted(job, nil) {
					t.Fatalf("%s has no node left though none is known", job)
				}
				for _, node := range nodes {
					if _, blocked := blocked[node]; b.Blocks(job, node) != blocked {
						t.Fatalf("%s blocks %s: want %t", job, node, blocked)
					}
				}
			}
			all := b.Nodes()
			got := make(map[string]int)
			for _, n := range all {
				got[n.Node] = int(n.Until.Sub(time.Unix(0, 0)) / time.Minute)
			}
			if diff := cmp.Diff(ends, got, cmpopts.EquateEmpty()); diff != "" || len(all) != len(got) {
				t.Fatalf("blocked nodes differ (-want +got):\n%s", diff)
			}
			common := b.Common([]ids.JobID{"j1", "j2"})
			for _, node := range nodes {
				_, first := jobs["j1"][node]
				_, second := jobs["j2"][node]
				if slices.Contains(common, node) != (first && second) || !slices.IsSorted(common) {
					t.Fatalf("both jobs block %v: %v", common, jobs)
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(jobs[job])), b.Common([]ids.JobID{job}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("blocked by %s (-want +got):\n%s", job, diff)
			}
			if b.Common(nil) != nil || b.Empty() != (len(ends) == 0) {
				t.Fatalf("nobody blocks %v; nothing is blocked: %t, with %v", b.Common(nil), b.Empty(), ends)
			}
			now := slices.Sorted(maps.Keys(got))
			avoid, dontAvoid := Changes(told, now)
			for _, node := range avoid {
				if yarn[node] {
					t.Fatalf("YARN is told of %s twice", node)
				}
				yarn[node] = true
			}
			for _, node := range dontAvoid {
				if !yarn[node] {
					t.Fatalf("YARN is to forget %s, of which it does not know", node)
				}
				delete(yarn, node)
			}
			told = now
			for node := range ends {
				if !yarn[node] {
					t.Fatalf("YARN does not know of %s", node)
				}
			}
			if len(yarn) != len(ends) {
				t.Fatalf("YARN avoids %v, want %v", yarn, ends)
			}
		}
	})
}
