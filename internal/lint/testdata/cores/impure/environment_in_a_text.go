package impure

import (
	"fmt"
	"os"
	"time"
)

type place string

// Only package fmt calls String.
func (p place) String() string {
	return os.Getenv("HOME") + string(p) // want "impure.told.Step → impure.place.String: uses os.Getenv"
}

type told struct{}

func (told) Step(_ time.Time, event string) []string {
	fmt.Println(event)          // want "uses fmt.Println"
	fmt.Fprintln(os.Stderr, "") // want "uses os.Stderr"
	return []string{fmt.Sprint(place(event))}
}
