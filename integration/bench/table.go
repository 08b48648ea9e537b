package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// table is a section of the page.
type table struct {
	title string
	was   string // an earlier title of the section, which it replaces; "": none
	text  string // the measured thing, and the method
	date  string // date of the measurement
	load  string // load average of the machine before it
	// machine is where it was measured, if the page says another one; else "".
	machine string
	head    []string
	rows    [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// page is the whole page, in Markdown.
func page(m machine, hadoop string, tables []table) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n")
	b.WriteString("`make bench` measures and writes this page. A number from several runs is their median, followed by the lowest and the highest\n")
	b.WriteString("value. The column *to reach* is the goal. The cluster is a real one on the same machine (`integration/internal/cluster`): one HDFS,\n")
	b.WriteString("and YARN with two NodeManagers. Both have their default settings, with heartbeats of 1 s. The daemons share the processors with\n")
	b.WriteString("the measured programs. *Load before* is the machine's load average before a measurement.\n\n")
	b.WriteString(m.table(hadoop).markdown())
	return merge(b.String(), tables)
}

// heading begins a section.
const heading = "\n## "

// merge puts sections into a page. A section replaces the one with its title, or else the one with its earlier title; a
// section with a new title goes to the end.
func merge(page string, tables []table) string {
	sections := strings.Split(page, heading)
	for _, t := range tables {
		on := ""
		if t.machine != "" {
			on = " on another machine, " + t.machine
		}
		section := fmt.Sprintf("%s\n\n%s Measured on %s%s; load before: %s.\n\n%s", t.title, t.text, t.date, on, t.load, t.markdown())
		titled := func(title string) int {
			return slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, title+"\n") })
		}
		at := titled(t.title)
		if at < 0 && t.was != "" {
			at = titled(t.was)
		}
		if at < 0 {
			sections = append(sections, section)
		} else {
			sections[at] = section
		}
	}
	return strings.Join(sections, heading)
}

// markdown returns the rows, with aligned columns for readers of the plain text.
func (t table) markdown() string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(cells []string, pad string) {
		b.WriteString("|")
		for i, width := range widths {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			b.WriteString(" " + cell + strings.Repeat(pad, width-utf8.RuneCountInString(cell)) + " |")
		}
		b.WriteString("\n")
	}
	line(t.head, " ")
	line(make([]string, len(t.head)), "-")
	for _, row := range t.rows {
		line(row, " ")
	}
	return b.String()
}

// median returns the median of values, which must not be empty. For an even number it returns the
// upper one of the two in the middle.
func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// spread formats values as their median, then the lowest and the highest.
func spread[T cmp.Ordered](values []T, format func(T) string) string {
	text := format(median(values))
	if len(values) > 1 {
		text += " (" + format(slices.Min(values)) + " to " + format(slices.Max(values)) + ")"
	}
	return text
}

// spreadOver is spread, of a number of each run. It is empty without a run.
func spreadOver[R any, N cmp.Ordered](runs []R, of func(R) N, format func(N) string) string {
	if len(runs) == 0 {
		return ""
	}
	return spread(pick(runs, of), format)
}

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// megabytes formats bytes in units of 1024², like sizes of programs and memory.
func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
