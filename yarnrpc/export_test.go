package yarnrpc

// Rows are the classes of errors in the table, for tests that show each at work.
func Rows() []Verdict {
	var rows []Verdict
	for _, c := range classes() {
		rows = append(rows, c.Verdict)
	}
	return rows
}
