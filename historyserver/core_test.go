package historyserver

import (
	"cmp"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestTheLaterMasterCounts would catch a job that has ended and looks as if it ran, and the state of a frozen master in the
// place of a later one's.
func TestTheLaterMasterCounts(t *testing.T) {
	t.Parallel()
	job := idOf(1)
	best := []source{
		{job: job, epoch: 1, modified: 900}, {job: job, epoch: 2, modified: 100}, {job: job, epoch: 2, modified: 200}, {job: job, ended: true, modified: 50},
	}
	for i := range best {
		best[i].uri = string(rune('a' + i))
		for seed := range 10 {
			l := newListing(Limits{Jobs: 10})
			some := slices.Clone(best[:i+1])
			rand.New(rand.NewSource(int64(seed))).Shuffle(len(some), func(a, b int) { some[a], some[b] = some[b], some[a] })
			for _, s := range some {
				l.add(s)
			}
			if got := l.jobs[job]; got != best[i] {
				t.Errorf("of %d archives %+v counts", i+1, got)
			}
		}
	}
}

// TestRefreshesAreAsANaiveModel compares random directories with a model that keeps everything and sorts it. It would catch a
// list that grows with the directories, an old job in the place of a newer one, a file that is fetched twice or never, and one
// that stays in the local folder.
func TestRefreshesAreAsANaiveModel(t *testing.T) {
	t.Parallel()
	for seed := range 300 {
		random := rand.New(rand.NewSource(int64(seed)))
		limits := Limits{Jobs: 1 + random.Intn(6), Bytes: int64(20 + random.Intn(60)), Archive: 15, Forget: true}
		c := newCore(limits, 2)
		folder := make(map[ids.JobID]source) // what the local folder has
		dirs := [2]map[string]source{{}, {}}
		for step := range 20 {
			var listings []*listing
			for i, dir := range dirs {
				for range random.Intn(4) {
					s := source{uri: string(rune('A'+i)) + string(idOf(random.Intn(12))), size: int64(1 + random.Intn(20)), modified: int64(100*step + random.Intn(100)), ended: true}
					s.job = ids.JobID(s.uri[1:])
					dir[s.uri] = s
				}
				for uri := range dir {
					if random.Intn(8) == 0 {
						delete(dir, uri)
					}
				}
				l := newListing(limits)
				for _, s := range dir {
					l.add(s)
				}
				if len(l.jobs) > 2*limits.Jobs {
					t.Fatalf("seed %d: a listing has %d jobs", seed, len(l.jobs))
				}
				listings = append(listings, l)
			}
			p := c.refresh(listings)
			for _, job := range p.drop {
				if _, is := folder[job]; !is {
					t.Fatalf("seed %d: %s is dropped, and not there", seed, job)
				}
				delete(folder, job)
			}
			for _, s := range p.fetch {
				if folder[s.job] == s || s.size > limits.Archive {
					t.Fatalf("seed %d: %+v is fetched", seed, s)
				}
				folder[s.job] = s
				c.fetched(s, overview{})
			}
			bytes := int64(0)
			for _, s := range folder {
				bytes += s.size
			}
			if len(folder) > limits.Jobs || len(folder) != len(c.held) || bytes > limits.Bytes {
				t.Fatalf("seed %d: the folder has %d jobs and %d bytes, the core %d jobs", seed, len(folder), bytes, len(c.held))
			}
			if newest := modelNewest(dirs, limits); newest.job != "" && folder[newest.job] != newest {
				t.Fatalf("seed %d, step %d: the newest job is not there: %+v", seed, step, newest)
			}
		}
	}
}

// modelNewest is the newest archive that can be shown.
func modelNewest(dirs [2]map[string]source, limits Limits) (newest source) {
	best := make(map[ids.JobID]source)
	for _, dir := range dirs {
		for _, s := range dir {
			if s.size <= limits.Archive && s.knows(best[s.job]) > 0 {
				best[s.job] = s
			}
		}
	}
	all := slices.SortedFunc(maps.Values(best), func(a, b source) int { return cmp.Compare(b.modified, a.modified) })
	for _, s := range all {
		if newest.job == "" || s.modified == newest.modified && older(s, newest) < 0 {
			newest = s
		}
	}
	return newest
}
