package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client/doctor"
)

// someResults are results of each kind.
func someResults() []doctor.Result {
	waits := []doctor.Finding{{Status: doctor.Skipped, Text: "waits for: KDC"}}
	return []doctor.Result{
		{Title: "Options", Status: doctor.OK, Findings: []doctor.Finding{{Status: doctor.OK, Text: "none is set"}}},
		{Title: "Kerberos", Status: doctor.Skipped, Findings: []doctor.Finding{{Status: doctor.Skipped, Text: "the cluster is open"}}},
		{Title: "KDC", Status: doctor.Failed, Findings: []doctor.Finding{
			{Status: doctor.Warning, Text: "slow", Remedy: "wait"},
			{Status: doctor.Failed, Text: "down, and nobody knows when it will be up again", Remedy: "start it, then look whether it stays up"},
		}},
		{Title: "Login", Status: doctor.Skipped, Findings: waits},
		{Title: "Queue", Status: doctor.Skipped, Findings: waits},
	}
}

// TestReportsFitTheirReader would catch lines that a terminal breaks inside words, colors in a file, and output
// that programs cannot search.
func TestReportsFitTheirReader(t *testing.T) {
	for name, tc := range map[string]struct {
		report report
		want   string
	}{
		"a program": {report{}, `Options
  ok       none is set
Skipped    Kerberos: the cluster is open
KDC
  warning  slow
        -> wait
  failed   down, and nobody knows when it will be up again
        -> start it, then look whether it stays up
Skipped    Login, Queue: waits for: KDC

Failed: KDC.
`},
		"a narrow terminal": {report{width: 40}, `Options
  ok       none is set
Skipped    Kerberos: the cluster is open
KDC
  warning  slow
        -> wait
  failed   down, and nobody knows when
           it will be up again
        -> start it, then look whether
           it stays up
Skipped    Login, Queue: waits for: KDC

Failed: KDC.
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			tc.report.out = &out
			for _, r := range someResults() {
				tc.report.result(r)
			}
			tc.report.summary(someResults())
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Colors take no columns, and each color ends.
func TestReportsInColor(t *testing.T) {
	var plain, colored strings.Builder
	for _, r := range someResults() {
		(&report{out: &plain, width: 40}).result(r)
		(&report{out: &colored, width: 40, color: true}).result(r)
	}
	text := colored.String()
	if !strings.Contains(text, "\x1b[31mfailed\x1b[0m ") || strings.Count(text, "\x1b[")%2 != 0 {
		t.Errorf("got %q", text)
	}
	for _, code := range []string{bold, faint, red, green, yellow, "0"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
	}
	if diff := cmp.Diff(plain.String(), text); diff != "" {
		t.Errorf("without the colors (-plain +colored):\n%s", diff)
	}
}

// Only a terminal shows the running check, and nothing of it remains.
func TestReportsOfWhatIsUnderWay(t *testing.T) {
	for width, want := range map[int]string{0: "KDC\n  ok       up\n", 80: "KDC ...\r       \rKDC\n  ok       up\n"} {
		var out strings.Builder
		r := &report{out: &out, width: width}
		r.begins("KDC")
		r.result(doctor.Result{Title: "KDC", Status: doctor.OK, Findings: []doctor.Finding{{Status: doctor.OK, Text: "up"}}})
		r.ends()
		if got := out.String(); got != want {
			t.Errorf("width %d: got %q, want %q", width, got, want)
		}
	}
}

func TestTheSummary(t *testing.T) {
	all := someResults()
	for want, results := range map[string][]doctor.Result{
		"All is well.":                     {all[0], all[1]},
		"Nothing has failed. Warnings: 1.": {all[0], {Status: doctor.Warning, Findings: all[2].Findings[:1]}},
		"Failed: KDC.":                     all,
	} {
		var out strings.Builder
		(&report{out: &out}).summary(results)
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestDoctorTellsItsExitCode would catch a script that continues after a failed check, and one that takes a
// wrong option for a fault of the cluster.
func TestDoctorTellsItsExitCode(t *testing.T) {
	code, stdout, stderr := command(t, nil, "doctor")
	if code != ExitFailed || stderr != "" || !strings.Contains(stdout, "neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, stderr = command(t, nil, "doctor", "-o", "json", "-D", "no.option=1")
	var told struct {
		Status doctor.Status
		Checks []doctor.Result
	}
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != ExitUsage || stderr != "" {
		t.Fatalf("exit code %d, %v, stdout %q, stderr %q", code, err, stdout, stderr)
	}
	if told.Status != doctor.Failed || told.Checks[0].Name != "options" || !strings.Contains(told.Checks[0].Findings[0].Text, "unknown option no.option") {
		t.Errorf("told %+v", told)
	}
}
