package extsort

// Budget is the memory that sorters may use. Its user decides who else shares it,
// and whether several goroutines use it.
type Budget interface {
	// Take reserves bytes, or returns false and reserves nothing.
	Take(bytes int64) bool
	// Give returns bytes that Take reserved.
	Give(bytes int64)
	// Excess is what others need, in bytes: the sorter gives all back that it does not use, once it has written a run.
	Excess() int64
}

// account is what one sorter has taken from its budget. It holds the floor from
// its start to its close, whatever the sorter uses.
type account struct {
	budget Budget
	floor  int64
	held   int64 // taken from the budget
	used   int64 // by the sorter; exceeds held only after force
}

// open takes the floor.
func (a *account) open() bool {
	if !a.budget.Take(a.floor) {
		return false
	}
	a.held = a.floor
	return true
}

func (a *account) take(bytes int64) bool {
	if need := a.used + bytes - a.held; need > 0 {
		if !a.budget.Take(need) {
			return false
		}
		a.held += need
	}
	a.used += bytes
	return true
}

// force is for memory without which the sorter cannot go on.
func (a *account) force(bytes int64) {
	if !a.take(bytes) {
		a.used += bytes
	}
}

func (a *account) give(bytes int64) {
	a.used -= bytes
	if back := a.held - max(a.floor, a.used); back > 0 {
		a.held -= back
		a.budget.Give(back)
	}
}

func (a *account) close() {
	a.budget.Give(a.held)
	a.held, a.used = 0, 0
}
