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
	text  string // what was measured, and how
	date  string // of the day
	load  string // average of the machine before it was
	head  []string
	rows  [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// page is the whole of it, in Markdown.
func page(m machine, hadoop string, tables []table) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n")
	b.WriteString("`make bench` measures and writes this page. A number from several runs is their median, followed by the lowest and the highest\n")
	b.WriteString("value. The column *to reach* is the goal. The cluster is a real one on the same machine (`integration/internal/cluster`): one HDFS,\n")
	b.WriteString("and YARN with two NodeManagers. Both have their default settings, with heartbeats of 1 s. The daemons share the processors with\n")
	b.WriteString("the measured programs.\n\n")
	b.WriteString(m.table(hadoop).markdown())
	return merge(b.String(), tables)
}

// heading begins a section.
const heading = "\n## "

// merge puts sections into a page: in place of those with their titles, and behind all
// others where there are none.
func merge(page string, tables []table) string {
	sections := strings.Split(page, heading)
	for _, t := range tables {
		title := t.title + "\n"
		section := fmt.Sprintf("%s\n%s Measured on %s; load before: %s.\n\n%s", title, t.text, t.date, t.load, t.markdown())
		at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, title) })
		if at < 0 {
			sections = append(sections, section)
		} else {
			sections[at] = section
		}
	}
	return strings.Join(sections, heading)
}

// markdown is the rows, with columns aligned for readers of the plain text.
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

// median of values, which must not be empty; of an even number, the upper one of
// the two in the middle.
func median[T cmp.Ordered](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// spread writes values as their median, and the lowest and highest behind it.
func spread[T cmp.Ordered](values []T, format func(T) string) string {
	text := format(median(values))
	if len(values) > 1 {
		text += " (" + format(slices.Min(values)) + " to " + format(slices.Max(values)) + ")"
	}
	return text
}

func millis(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// megabytes writes bytes as sizes of programs and memory are counted, by 1024.
func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }

// rate is a speed in millions of bytes a second.
func rate(bytes int64, d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s", float64(bytes)/1e6/d.Seconds())
}
