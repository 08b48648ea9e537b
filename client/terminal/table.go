package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	between = 2 // cells between two columns of a table
	hanging = 2 // cells before a continued line
	least   = 8 // least cells of a shortened text
)

// Column is a column of a table.
type Column struct {
	Title string // as before a value; above the column it is in capitals
	Long  bool   // its texts may be shortened, because nobody copies them
	// Below puts the texts of a last column below their rows if they do not fit beside them.
	Below bool
}

// Table is a list of rows, with one value for each column. If it is wider than the screen, Write shortens long
// texts, first those of the widest column. If that is not enough, each value gets its own line, after its
// title.
type Table struct {
	Columns []Column
	// Line is the format of a row, with a %s for each column. If it is empty, the columns are aligned below
	// their titles.
	Line string

	rows [][]string
}

// Add adds a row.
func (t *Table) Add(values ...any) {
	row := make([]string, len(values))
	for i, value := range values {
		row[i] = fmt.Sprint(value)
	}
	t.rows = append(t.rows, row)
}

// Write writes the table so that it fits on out.
func (t *Table) Write(out io.Writer) error {
	shown := *t
	if Is(out) {
		shown.rows = t.visible()
	}
	_, err := io.WriteString(out, shown.text(Columns(out)))
	return err
}

// visible are the rows without characters that control a terminal.
func (t *Table) visible() [][]string {
	rows := make([][]string, len(t.rows))
	for i, row := range t.rows {
		for _, value := range row {
			rows[i] = append(rows[i], Visible(value))
		}
	}
	return rows
}

// text is the table for a screen with this many columns; 0 if out is no screen, or does not tell.
func (t *Table) text(columns int) string {
	lines, fit := t.lines(t.rows, columns)
	if !fit {
		lines = t.fields(t.rows, columns)
	}
	return joined(lines)
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// lines puts each row on one line.
func (t *Table) lines(rows [][]string, columns int) (lines []string, fit bool) {
	if t.Line != "" {
		return t.formatted(rows, columns)
	}
	titles := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		titles[i] = strings.ToUpper(c.Title)
	}
	rows = append([][]string{titles}, rows...)
	lines, fit = align(t.Columns, rows, columns)
	if last := len(t.Columns) - 1; !fit && t.Columns[last].Below {
		return alignAbove(t.Columns[:last], rows, columns)
	}
	return lines, fit
}

// formatted puts each row on one line, independent of the other rows.
func (t *Table) formatted(rows [][]string, columns int) (lines []string, fit bool) {
	for _, row := range rows {
		if columns > 0 {
			widths := widest([][]string{row}, Cells)
			excess := Cells(t.line(row)) - columns
			if !narrow(t.Columns, widths, excess) {
				return nil, false
			}
			row = shortened(row, widths)
		}
		lines = append(lines, t.line(row))
	}
	return lines, true
}

func (t *Table) line(row []string) string {
	values := make([]any, len(row))
	for i, value := range row {
		values[i] = value
	}
	return fmt.Sprintf(t.Line, values...)
}

// align aligns rows in columns. The first row has the titles.
func align(of []Column, rows [][]string, columns int) (lines []string, fit bool) {
	measure := Cells
	if columns == 0 { // programs count characters
		measure = utf8.RuneCountInString
	}
	widths := widest(rows, measure)
	if columns > 0 {
		wide := between * (len(widths) - 1)
		for _, w := range widths {
			wide += w
		}
		if !narrow(of, widths, wide-columns) {
			return nil, false
		}
	}
	for _, row := range rows {
		if columns > 0 {
			row = shortened(row, widths)
		}
		var b strings.Builder
		for i, value := range row {
			b.WriteString(value)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-measure(value)+between))
			}
		}
		lines = append(lines, b.String())
	}
	return lines, true
}

// alignAbove is align without the last column, whose values go below their rows.
func alignAbove(of []Column, rows [][]string, columns int) (lines []string, fit bool) {
	above := make([][]string, len(rows))
	for i, row := range rows {
		above[i] = row[:len(of)]
	}
	aligned, fit := align(of, above, columns)
	if !fit {
		return nil, false
	}
	for i, row := range rows {
		lines = append(lines, aligned[i])
		if last := row[len(of)]; last != "" {
			lines = append(lines, strings.Repeat(" ", hanging)+last)
		}
	}
	return lines, slices.IndexFunc(lines, func(line string) bool { return Cells(line) > columns }) < 0
}

// fields puts each value on its own line, or on several if it is too long.
func (t *Table) fields(rows [][]string, columns int) (lines []string) {
	for i, row := range rows {
		if i > 0 {
			lines = append(lines, "")
		}
		for k, value := range row {
			if value != "" {
				lines = append(lines, field(t.Columns[k].Title, value, columns))
			}
		}
	}
	return lines
}

func field(name, value string, columns int) string {
	return Hang(name+": "+value, 0, hanging, columns)
}

// widest are the widths of the widest values of the columns.
func widest(rows [][]string, measure func(string) int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, value := range row {
			widths[i] = max(widths[i], measure(value))
		}
	}
	return widths
}

// narrow takes excess cells from the widths of long columns, from the widest first, and tells whether that was
// possible.
func narrow(of []Column, widths []int, excess int) bool {
	for ; excess > 0; excess-- {
		widest := -1
		for i, c := range of {
			if c.Long && widths[i] > max(least, Cells(c.Title)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

func shortened(row []string, widths []int) []string {
	short := make([]string, len(row))
	for i, value := range row {
		short[i] = Shorten(value, widths[i])
	}
	return short
}
