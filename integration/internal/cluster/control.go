package cluster

import (
	"context"
	"fmt"
	"syscall"
)

// Stop ends a daemon with SIGTERM and waits for its end. A NodeManager's containers continue to run.
func (c *Cluster) Stop(ctx context.Context, name string) error {
	return c.terminate(ctx, name, syscall.SIGTERM)
}

// Kill ends a daemon with SIGKILL and waits for its end. A NodeManager's containers continue to run.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.terminate(ctx, name, syscall.SIGKILL)
}

func (c *Cluster) terminate(ctx context.Context, name string, sig syscall.Signal) error {
	d, err := c.spec.daemon(name)
	if err != nil {
		return err
	}
	if err := c.signal(d, sig); err != nil {
		return err
	}
	return c.waitGone(ctx, d)
}

// Pause stops a daemon's process with SIGSTOP. Its connections stay open, and it does not answer.
func (c *Cluster) Pause(ctx context.Context, name string) error {
	d, err := c.spec.daemon(name)
	if err != nil {
		return err
	}
	if err := c.signal(d, syscall.SIGSTOP); err != nil {
		return err
	}
	return c.waitStopped(ctx, d)
}

// Resume lets a paused daemon continue.
func (c *Cluster) Resume(name string) error {
	d, err := c.spec.daemon(name)
	if err != nil {
		return err
	}
	return c.signal(d, syscall.SIGCONT)
}

// Restart ends a daemon with SIGTERM if it is alive, starts it again with its ports and data, and waits until it is
// healthy, at most as long as for the start of a cluster.
func (c *Cluster) Restart(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooLate)
	defer cancel()
	d, err := c.spec.daemon(name)
	if err != nil {
		return err
	}
	if _, ok := c.pid(d); ok {
		if err := c.Stop(ctx, name); err != nil {
			return fmt.Errorf("restart %s: %w", name, err)
		}
	}
	if err := c.launch(ctx, d); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	if err := c.waitReady(ctx, d); err != nil {
		return fmt.Errorf("restart %s: %w", name, err)
	}
	return nil
}

// Running reports whether a daemon's process is alive. A paused process is alive.
func (c *Cluster) Running(name string) bool {
	_, ok := c.Pid(name)
	return ok
}

// Pid returns a daemon's process. It is false if the process is not alive.
func (c *Cluster) Pid(name string) (int, bool) {
	d, err := c.spec.daemon(name)
	if err != nil {
		return 0, false
	}
	return c.pid(d)
}

// Daemons returns the names of the cluster's daemons.
func (c *Cluster) Daemons() []string {
	var names []string
	for _, d := range c.spec.Daemons {
		names = append(names, d.Name)
	}
	return names
}
