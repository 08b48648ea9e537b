package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"
)

// edition is a page while it is made.
type edition struct {
	machine  machine
	hadoop   string    // Flink's version
	sections []section // sections to measure
	whole    bool      // the page has no other sections
	file     string    // writes the page to a file beside stdout; "": to none
	log      logrus.FieldLogger
}

// publish measures the sections, keeps each of them at once, and prints the page. After an error it
// prints the sections measured until then.
func (e *edition) publish(ctx context.Context, r *rig, stdout io.Writer) error {
	kept, err := keepIn(e.file, e.machine, e.hadoop)
	if err != nil {
		return err
	}
	tables, err := e.measure(ctx, r, kept.add)
	content := page(e.machine, e.hadoop, tables)
	_, unwritten := io.WriteString(stdout, content)
	if err = errors.Join(err, unwritten); err == nil && e.whole {
		err = kept.end(content)
	}
	return err
}

// measure measures the sections one after another, and passes each to keep at once. After an error
// it returns the sections before, and the rows of the failed section. It does not keep those rows,
// because the file may have all rows of that section from an earlier day.
func (e *edition) measure(ctx context.Context, r *rig, keep func(table) error) (tables []table, err error) {
	for _, s := range e.sections {
		load, err := loadAverage()
		if err != nil {
			return tables, err
		}
		e.log.WithFields(logrus.Fields{"section": s.name, "load": load}).Info("measuring")
		t, err := s.measure(ctx, r)
		t.date, t.load = time.Now().UTC().Format(time.DateOnly), load
		if err != nil {
			if len(t.rows) > 0 {
				t.text += " **The section failed, and has only the runs before that.**"
				tables = append(tables, t)
			}
			return tables, fmt.Errorf("section %s: %w", s.name, err)
		}
		tables = append(tables, t)
		if err := keep(t); err != nil {
			return tables, err
		}
	}
	return tables, nil
}
