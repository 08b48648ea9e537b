package lint

import (
	"fmt"
	"regexp"
	"strings"
)

// apiRow is a row of the page on public API that is about a package, or about a folder and all below it.
var apiRow = regexp.MustCompile("(?m)^\\| `([A-Za-z0-9_./-]+)`.*\\|$")

// API checks that the page on public API says of each package that others can import whether it is for them, and names no
// other. Paths are relative to the module.
func API(page []byte, packages []Package) []string {
	var complaints []string
	rows := map[string]bool{} // and whether there is such a package
	for _, row := range apiRow.FindAllSubmatch(page, -1) {
		rows[string(row[1])] = false
	}
	for _, p := range packages {
		if strings.Contains("/"+p.Path+"/", "/internal/") {
			continue
		}
		named := false
		for row := range rows {
			folder, below := strings.CutSuffix(row, "/")
			if p.Path == folder || below && within(p.Path, folder) {
				named, rows[row] = true, true
			}
		}
		if !named {
			complaints = append(complaints, fmt.Sprintf("package %s is not on the page about public API", p.Path))
		}
	}
	for row, there := range rows {
		if !there {
			complaints = append(complaints, fmt.Sprintf("the page about public API names %s, which is no package", row))
		}
	}
	return complaints
}
