package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// Heal undoes a test's changes to the daemons. It restarts daemons that have ended or run with another configuration,
// resumes paused ones, and makes the first of two NameNodes active. It returns when all daemons are healthy. Tests
// themselves remove their files and end their applications.
func (c *Cluster) Heal(ctx context.Context) error {
	for _, d := range c.spec.Daemons {
		if err := c.healDaemon(ctx, d); err != nil {
			return fmt.Errorf("heal %s: %w", d.Name, err)
		}
	}
	if err := c.waitReady(ctx, c.spec.Daemons...); err != nil {
		return fmt.Errorf("heal: %w", err)
	}
	if c.spec.NameNodeHA {
		return c.healNameNodes(ctx)
	}
	return nil
}

func (c *Cluster) healDaemon(ctx context.Context, d daemon) error {
	changed, err := c.restoreConf(d)
	if err != nil {
		return err
	}
	pid, runs := c.pid(d)
	paused := runs && isPaused(pid)
	switch {
	case paused && ((d.Kind == nameNode && c.spec.NameNodeHA) || (d.Kind == resourceManager && c.spec.HA)):
		// A NameNode may still believe that it is active, and nothing fences it. A ResourceManager that was fenced
		// while it stored its state waits for itself for ever, and reports itself on the web as standby.
		if err := c.Kill(ctx, d.Name); err != nil {
			return err
		}
	case paused:
		if err := c.Resume(d.Name); err != nil {
			return err
		}
	}
	if _, runs := c.pid(d); runs && !changed {
		return nil
	}
	return c.Restart(ctx, d.Name)
}

// restoreConf restores a daemon's configuration from cluster.json, and reports whether it was different.
func (c *Cluster) restoreConf(d daemon) (changed bool, err error) {
	made, err := readSpec(c.spec.Dir)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(made.hadoopDaemons(), func(other daemon) bool { return other.Name == d.Name }) {
		return false, nil
	}
	original, err := made.daemon(d.Name)
	if err != nil {
		return false, err
	}
	return made.writeDaemon(original)
}

// isPaused reports whether SIGSTOP has stopped a process.
func isPaused(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && stopped(stat)
}

// stopped reads a stat file of /proc: "PID (NAME) STATE …". NAME may contain any character.
func stopped(stat []byte) bool {
	end := bytes.LastIndexByte(stat, ')')
	return end >= 0 && bytes.HasPrefix(stat[end+1:], []byte(" T"))
}

// healNameNodes makes the first NameNode of a pair active.
func (c *Cluster) healNameNodes(ctx context.Context) error {
	pair := haNameNodes()
	err := c.withTicket(ctx, pair["nn2"], c.Deactivate)
	if err != nil && !errors.Is(err, syscall.ECONNREFUSED) { // it is no error to make a standby a standby
		return fmt.Errorf("heal %s: %w", pair["nn2"], err)
	}
	first := func(ctx context.Context, _ string) error { return c.activateFirst(ctx) }
	if err := c.withTicket(ctx, pair["nn1"], first); err != nil {
		return fmt.Errorf("heal %s: %w", pair["nn1"], err)
	}
	return nil
}

// withTicket sends a command to a NameNode, and restarts a NameNode that accepts no ticket. If its login failed because
// the KDC had other keys, the NameNode has no ticket any more, and tries again after a minute at the earliest
// (UserGroupInformation#relogin).
func (c *Cluster) withTicket(ctx context.Context, name string, command func(context.Context, string) error) error {
	err := command(ctx, name)
	if !errors.Is(err, yarnrpc.ErrSASL) {
		return err
	}
	if err := c.Restart(ctx, name); err != nil {
		return err
	}
	return command(ctx, name)
}
