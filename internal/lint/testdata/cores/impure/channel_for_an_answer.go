package impure

import "time"

type asked struct {
	reply chan<- int // want "impure.answering.Step.reply is a channel"
}

type answering struct{ sum int }

func (a *answering) Step(_ time.Time, event asked) []int {
	event.reply <- a.sum   // want "uses a channel"
	close(event.reply)     // want "uses a channel"
	done := make(chan int) // want "uses a channel"
	for range done {       // want "uses a channel"
	}
	select { // want "uses a channel"
	default:
	}
	return []int{<-done} // want "uses a channel"
}
