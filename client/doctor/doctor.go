// Package doctor finds out, before a submission, why this machine could submit no job. It checks the
// configuration, Kerberos, names, servers, the queue, files and tokens. Each fault comes with a remedy.
//
// Examine runs the checks in order. It skips a check if one that it needs has failed. Nothing remains changed:
// Examine writes a file to HDFS as a test and removes it, and cancels a token that it obtains.
//
// A check may ask several servers in parallel, each in a goroutine that ends with the check. The package prints
// nothing; package cli does. It must not import a role.
package doctor

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Status is how a check ended.
type Status string

// The statuses, from the best to the worst.
const (
	Skipped Status = "skipped" // not checked; the text says why
	OK      Status = "ok"
	Warning Status = "warning" // works, but not as it should, or not for long
	Failed  Status = "failed"
)

// worse is the worse of two statuses.
func worse(a, b Status) Status {
	order := []Status{Skipped, OK, Warning, Failed}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// Finding is one thing that a check has found.
type Finding struct {
	Status Status `json:"status"`
	// Text is one line about what was found. Remedy is one line about what to do; empty if there is nothing to
	// do.
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Result is what a check has found.
type Result struct {
	Name     string    `json:"name"`  // for programs, such as "queue"
	Title    string    `json:"title"` // for people
	Status   Status    `json:"status"`
	Findings []Finding `json:"findings"` // never empty
}

// Patient is a machine with its user. Begins may be left out.
type Patient struct {
	Getenv func(string) string
	// Options reads the options of the file and of the command line.
	Options  func() (config.Config, error)
	Resolver Resolver
	Now      func() time.Time
	// Begins is called with the title of each check before the check runs, unless it is skipped. Some checks
	// take seconds.
	Begins func(title string)
}

// Resolver asks DNS, or what this machine uses instead; net.Resolver is one.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// check is one step of an examination.
type check struct {
	name, title string
	needs       []string // the checks that must not have failed
	run         func(*visit, context.Context) []Finding
}

// checks are all steps. Each comes after those that it needs.
func checks() []check {
	return []check{
		{"options", "Bobbin's options", nil, (*visit).checkOptions},
		{"hadoop", "Hadoop configuration", []string{"options"}, (*visit).checkHadoop},
		{"krb5", "Kerberos configuration", []string{"hadoop"}, (*visit).checkKrb5},
		{"credentials", "Kerberos credentials", []string{"krb5"}, (*visit).checkCredentials},
		{"kdc", "KDCs and clocks", []string{"krb5"}, (*visit).checkKDCs},
		{"login", "Kerberos login", []string{"credentials", "kdc"}, (*visit).checkLogin},
		{"names", "Names of the servers", []string{"hadoop"}, (*visit).checkNames},
		{"resourcemanager", "ResourceManager", []string{"login"}, (*visit).checkResourceManagers},
		{"namenode", "NameNode", []string{"login"}, (*visit).checkNameNodes},
		{"queue", "Queue and limits", []string{"resourcemanager"}, (*visit).checkQueue},
		{"staging", "Staging on HDFS", []string{"namenode"}, (*visit).checkStaging},
		{"tokens", "Tokens of a job", []string{"namenode"}, (*visit).checkTokens},
	}
}

// Examine runs all checks, and yields each result as soon as it is known. It stops early if ctx ends.
func Examine(ctx context.Context, p Patient) iter.Seq[Result] {
	return func(yield func(Result) bool) {
		v := &visit{Patient: p}
		blocked := make(map[string]string) // failed or skipped checks, with the title of the check that failed first
		for _, c := range checks() {
			r := Result{Name: c.name, Title: c.title}
			for _, need := range c.needs {
				if title, is := blocked[need]; is {
					blocked[c.name] = title
				}
			}
			if title, is := blocked[c.name]; is {
				r.Findings = skipped(fmt.Sprintf("the check %q has failed", title))
			} else {
				if p.Begins != nil {
					p.Begins(c.title)
				}
				r.Findings = c.run(v, ctx)
			}
			if ctx.Err() != nil {
				return
			}
			r.Status = Skipped
			for _, f := range r.Findings {
				r.Status = worse(r.Status, f.Status)
			}
			if r.Status == Failed {
				blocked[c.name] = c.title
			}
			if !yield(r) {
				return
			}
		}
	}
}

// Worst is the worst status of several results.
func Worst(results []Result) Status {
	all := Skipped
	for _, r := range results {
		all = worse(all, r.Status)
	}
	return all
}

func ok(text string) Finding { return Finding{Status: OK, Text: text} }
func warning(text, remedy string) Finding {
	return Finding{Status: Warning, Text: text, Remedy: remedy}
}

func failed(text, remedy string) Finding { return Finding{Status: Failed, Text: text, Remedy: remedy} }
func skipped(text string) []Finding      { return []Finding{{Status: Skipped, Text: text}} }
