package flinkrest

import (
	"embed"
	"maps"
	"slices"
	"strings"
)

// The numbers of lines in missing.txt and deliberate.txt. Both may only decrease: gaps are to be filled,
// and Flink's users expect Flink's answers. A commit that increases one gives the reason.
const (
	known      = 9
	deliberate = 21
)

//go:embed missing.txt deliberate.txt ours.txt
var lists embed.FS

// Lists are the known differences.
type Lists struct {
	Missing    []string // what is not built yet
	Deliberate []string // differences from Flink that stay
	Ours       []string // what Flink does not have
}

// KnownLists returns the lists of this repository.
func KnownLists() (l Lists, err error) {
	for name, list := range map[string]*[]string{"missing.txt": &l.Missing, "deliberate.txt": &l.Deliberate, "ours.txt": &l.Ours} {
		text, err := lists.ReadFile(name)
		if err != nil {
			return l, err
		}
		*list = lines(string(text))
	}
	return l, nil
}

// lines returns the lines of a list that are neither empty nor comments.
func lines(list string) (found []string) {
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, line)
		}
	}
	return found
}

// Faults compares what was found with the lists. A fault is a difference or an addition that is on no list,
// or an entry that is not true: its place was compared, and does not differ in that way.
func (c *Comparison) Faults(l Lists) (faults []string) {
	different := slices.Concat(l.Missing, l.Deliberate)
	for _, line := range unlisted(c.found, different) {
		faults = append(faults, "differs from Flink: "+line)
	}
	for _, line := range unlisted(c.beyond, l.Ours) {
		faults = append(faults, "is not Flink's, and not in ours.txt: "+line)
	}
	for _, entry := range different {
		place, what, _ := cutEntry(entry)
		if places, looked := c.found[place]; looked && !places[what] {
			faults = append(faults, "is not so any more; take it off the list: "+entry)
		}
	}
	return faults
}

// unlisted returns the lines of what was found that a list does not have.
func unlisted(found map[string]map[string]bool, list []string) (lines []string) {
	for _, place := range slices.Sorted(maps.Keys(found)) {
		for _, what := range slices.Sorted(maps.Keys(found[place])) {
			if line := place + ": " + what; !slices.Contains(list, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Unseen returns the entries whose places were not compared.
func (c *Comparison) Unseen(l Lists) (entries []string) {
	for _, entry := range slices.Concat(l.Missing, l.Deliberate, l.Ours) {
		place, _, is := cutEntry(entry)
		_, found := c.found[place]
		_, beyond := c.beyond[place]
		if !is || !found && !beyond {
			entries = append(entries, entry)
		}
	}
	return entries
}

// cutEntry splits a line at its first ": ". No template contains that.
func cutEntry(line string) (place, what string, is bool) { return strings.Cut(line, ": ") }
