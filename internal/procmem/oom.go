package procmem

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Points of oom_score_adj. The kernel adds them to a process' memory in thousandths of what there is,
// and ends the process with the highest sum.
const (
	exposure    = 500
	mostExposed = 1000
)

// Expose makes the kernel end a child of this process before this process, when a machine or a control
// group has no memory left: the child has 500 points of oom_score_adj more. The children of that child
// start with as many, and the child can expose them further. The kernel lets every user raise points.
// The error wraps the system's.
func Expose(child int) error {
	own, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		return fmt.Errorf("expose process %d: %w", child, err)
	}
	points, err := strconv.Atoi(strings.TrimSpace(string(own)))
	if err != nil {
		return fmt.Errorf("expose process %d: %w", child, err)
	}
	points = min(points+exposure, mostExposed)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", child), []byte(strconv.Itoa(points)), 0); err != nil {
		return fmt.Errorf("expose process %d: %w", child, err)
	}
	return nil
}
