package main

import (
	"errors"
	"os"
	"runtime/pprof"
)

// profile starts the profile of this process if the plan wants one. The caller stops it.
func profile(p plan, process string) (stop func() error, err error) {
	if p.Profile == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(p.Profile + "." + process)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
