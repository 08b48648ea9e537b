package yarnworkers

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Bounds of texts, in bytes: of the diagnostics that YARN keeps of an application, and of those
// of a container, which go to JobMasters.
const (
	maxDiagnostics          = 8 << 10
	maxContainerDiagnostics = 2 << 10
)

// completionCause says why a container has ended, with the diagnostics of YARN if there
// are any. sizedBy decides the size of the container; "" if that is not known.
func completionCause(s records.ContainerStatus, sizedBy string) string {
	cause := fmt.Sprintf("container ended: %s (exit status %d)", s.ExitStatus.Reason(), int32(s.ExitStatus))
	if sizedBy != "" && (s.ExitStatus == records.ExitExceededPhysicalMemory || s.ExitStatus == records.ExitExceededVirtualMemory) {
		cause += "; raise " + sizedBy
	}
	// "N/A" is Hadoop's default for no diagnostics.
	if d := strings.TrimSpace(s.Diagnostics); d != "" && d != "N/A" {
		cause += "; YARN says: " + clip(d, maxContainerDiagnostics)
	}
	return cause
}

// clip cuts a text to a number of bytes, between two characters.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const cut = " … (cut)"
	end := limit - len(cut)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + cut
}

// finalStatus converts the final status of an application to YARN's.
func finalStatus(s msg.ApplicationStatus) records.FinalApplicationStatus {
	switch s {
	case msg.ApplicationSucceeded:
		return records.FinalSucceeded
	case msg.ApplicationFailed:
		return records.FinalFailed
	case msg.ApplicationCanceled:
		return records.FinalKilled
	case msg.ApplicationUnknown:
		return records.FinalUndefined
	}
	return records.FinalUndefined
}
