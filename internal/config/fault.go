package config

import "errors"

// ErrInvalid is the cause of every fault in the name or the value of an option.
var ErrInvalid = errors.New("invalid configuration")

// Fault is an option that does not exist, or whose value is not allowed, by itself or beside
// another option's. It wraps ErrInvalid.
type Fault struct {
	Source string // of the value; "": unknown, or part of What
	What   string // the option with its value
	Remedy string // what to do
}

func (f *Fault) Error() string { return f.Text() + ", " + f.Remedy + ": " + ErrInvalid.Error() }

// Text returns the fault and its source, without the remedy.
func (f *Fault) Text() string {
	if f.Source == "" {
		return f.What
	}
	return f.Source + ": " + f.What
}

// Unwrap returns ErrInvalid.
func (f *Fault) Unwrap() error { return ErrInvalid }
