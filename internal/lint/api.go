package lint

import (
	"fmt"
	"regexp"
	"strings"
)

// apiRow is a row of the page on the public API, about a package, or about a folder and all below
// it.
var apiRow = regexp.MustCompile("(?m)^\\| `([A-Za-z0-9_./-]+)`.*\\|$")

// API checks that the page on the public API has each package that other modules can import, and no
// other. Paths are relative to the module.
func API(page []byte, packages []Package) []string {
	var complaints []string
	rows := map[string]bool{} // true: there is such a package
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
