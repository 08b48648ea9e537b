package impure

import "time"

// table is not the core of a role, but is marked as pure.
//
//bobbin:pure
type table struct {
	rows    int
	changed chan int // want "impure.table.changed is a channel"
}

func (t *table) add() { t.log() }

func (t *table) log() {
	println(time.Now().String()) // want "uses time.Now" "uses println"
}
