package join

import (
	"context"
	"errors"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// join joins the records of one key. The block holds those of the build side, or the first of them.
func (m *Merge) join(ctx context.Context) (err error) {
	m.block.reset()
	err = m.each(ctx, Build, func(v []byte) (bool, error) { return m.block.add(v), nil })
	if err != nil {
		return err
	}
	rest, err := m.copied(ctx, Build) // what the block does not hold
	defer func() { err = errors.Join(err, rest.Close()) }()
	switch {
	case err != nil:
		return err
	case m.block.count == 0:
		return m.each(ctx, Probe, func(v []byte) (bool, error) { return true, m.alone(Probe, v) })
	case !m.has(Probe):
		return m.aloneAll(rest)
	case len(rest) == 0:
		return m.each(ctx, Probe, func(v []byte) (bool, error) { return true, m.block.match(m.config.Output, v) })
	}
	return m.joinFiles(ctx, rest)
}

// copied writes the records of the key on a side to files.
func (m *Merge) copied(ctx context.Context, side Side) (_ spill.Runs, err error) {
	if !m.has(side) {
		return nil, nil
	}
	if m.files == nil {
		m.files = m.config.Dirs.NewAppenders()
	}
	file := m.files.New()
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := m.each(ctx, side, func(v []byte) (bool, error) { return true, file.Append(v) }); err != nil {
		return nil, err
	}
	return file.Finish()
}

// joinFiles joins a key of which neither side may fit into memory. For each block of the build side, it reads the probe side once.
func (m *Merge) joinFiles(ctx context.Context, rest spill.Runs) (err error) {
	probes, err := m.copied(ctx, Probe)
	defer func() { err = errors.Join(err, probes.Close()) }()
	if err != nil {
		return err
	}
	builds := rest.Open()
	for {
		if err := m.matchAll(ctx, probes); err != nil {
			return err
		}
		m.block.reset()
		if err := m.block.fill(builds); err != nil {
			return err
		}
		if m.block.count == 0 {
			return nil
		}
	}
}

// matchAll joins the block with the probe side.
func (m *Merge) matchAll(ctx context.Context, probes spill.Runs) error {
	reader := probes.Open()
	for n := 0; ; n++ {
		if n%burst == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = m.block.match(m.config.Output, v)
		}
		if err != nil {
			return err
		}
	}
}

func (m *Merge) alone(side Side, value []byte) error {
	if !m.config.Outer[side] {
		return nil
	}
	return m.config.Output.Alone(side, value)
}

// aloneAll passes on the build records of a key that the probe side does not have.
func (m *Merge) aloneAll(rest spill.Runs) error {
	if !m.config.Outer[Build] {
		return nil
	}
	pass := func(v []byte) error { return m.config.Output.Alone(Build, v) }
	if err := m.block.each(pass); err != nil {
		return err
	}
	for reader := rest.Open(); ; {
		v, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = pass(v)
		}
		if err != nil {
			return err
		}
	}
}
