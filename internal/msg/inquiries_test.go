package msg

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFaultsCrossProcesses would catch an error of a worker of which REST cannot tell the status, or whose
// text is lost or repeated.
func TestFaultsCrossProcesses(t *testing.T) {
	t.Parallel()
	for _, want := range []error{ErrNotShown, ErrProfiling, ErrBadInquiry, ErrWorkerSilent, ErrTooManyInquiries, errInquiry} {
		answer := NoAnswer(fmt.Errorf("read x: %w", want))
		if err := answer.Err(); !errors.Is(err, want) || err.Error() != "read x: "+want.Error() {
			t.Errorf("%v becomes %v", want, err)
		}
	}
	if err := NoAnswer(errors.New("disk")).Err(); !errors.Is(err, errInquiry) || err.Error() != "disk" {
		t.Errorf("an error of the disk becomes %v", err)
	}
	if err := (InquiryAnswer{Fault: "of a later release"}).Err(); err == nil {
		t.Error("an unknown fault is no error")
	}
	if err := (InquiryAnswer{}).Err(); err != nil {
		t.Error(err)
	}
	if long := NoAnswer(errors.New(strings.Repeat("\xff", 1<<20))); long.Check(AboutLogs) != nil {
		t.Errorf("a reason of %d bytes is refused", len(long.Reason))
	}
}

// TestAnswersAreChecked would catch a worker that fills the ApplicationMaster's memory, or its readers'.
func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxInquiryText+1)
	for name, answer := range map[string]InquiryAnswer{
		"content":  {Content: make([]byte, MaxPart+1)},
		"files":    {Files: make([]FileDetails, MaxListed+1)},
		"profiles": {Profiles: make([]ProfileDetails, MaxListed+1)},
		"hosts":    {Hosts: make([]HostDetails, MaxListed+1)},
		"a name":   {Files: []FileDetails{{Name: long}}},
		"a reason": {Reason: long},
		"its file": {File: FileDetails{Name: long}},
		"a text":   {Profiles: []ProfileDetails{{Message: long}}},
	} {
		if err := answer.Check(AboutLog); !errors.Is(err, errLargeAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	honest := InquiryAnswer{Content: make([]byte, MaxPart), Files: make([]FileDetails, MaxListed), Hosts: []HostDetails{{Host: "h", Job: "j"}}}
	if err := honest.Check(AboutLog); err != nil {
		t.Error(err)
	}
	if err := (InquiryAnswer{Content: make([]byte, MaxGoroutines+1)}).Check(AboutGoroutines); !errors.Is(err, errLargeAnswer) {
		t.Error(err)
	}
}
