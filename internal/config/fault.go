package config

import "errors"

// ErrInvalid is the cause of every fault in names and values of options.
var ErrInvalid = errors.New("invalid configuration")

// Fault is an option that there is not, or whose value is not allowed, by itself or beside
// another's. It wraps ErrInvalid.
type Fault struct {
	Source string // where the value is from; "": What says so, or nobody knows
	What   string // the option with its value
	Remedy string // what to do
}

func (f *Fault) Error() string { return f.Text() + ", " + f.Remedy + ": " + ErrInvalid.Error() }

// Text is what is wrong, and where, without the remedy.
func (f *Fault) Text() string {
	if f.Source == "" {
		return f.What
	}
	return f.Source + ": " + f.What
}

// Unwrap gives ErrInvalid.
func (f *Fault) Unwrap() error { return ErrInvalid }
