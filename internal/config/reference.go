package config

import (
	"fmt"
	"strings"
)

//go:generate go run ../reference options ../../docs/OPTIONS.md

// Reference returns the page of all options, docs/OPTIONS.md, in Markdown.
func Reference() string {
	var page strings.Builder
	page.WriteString("# Options\n\n" +
		"<!-- Code generated from internal/config/keys.go. DO NOT EDIT. -->\n\n" +
		"Set options in `conf/bobbin.yaml` (`name: value`) or with `-D name=value`, which overrides the file. The column origin says\n" +
		"whether an option has Flink's name and meaning. If Flink's default differs, it follows the colon.\n\n" +
		"A duration is a number with `ns`, `µs`, `ms`, `s`, `min`, `h` or `d`. A size is a number with `b`, `k`, `m`, `g` or `t`.\n")
	for _, d := range table {
		if d.Section != "" {
			page.WriteString("\n## " + d.Section + "\n\n| option | type | default | meaning | origin |\n| --- | --- | --- | --- | --- |\n")
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", d.Key.Name(), d.Key.kind(), defaultText(d), cell(d.describe()), cell(d.Origin))
	}
	return page.String()
}

func (d Definition) describe() string {
	sentences := []string{d.Doc}
	if len(d.Choices) > 0 {
		sentences = append(sentences, "One of `"+strings.Join(d.Choices, "`, `")+"`.")
	}
	if d.Range != (Range{}) {
		sentences = append(sentences, "Range: "+d.Range.String()+".")
	}
	sentences = append(sentences, related(d.Key)...)
	if d.Unit != 0 {
		sentences = append(sentences, "A bare number counts "+strings.TrimPrefix(FormatDuration(d.Unit), "1 ")+".")
	}
	return strings.Join(sentences, " ")
}

func defaultText(d Definition) string {
	if d.Default == "" {
		return "none"
	}
	text := "`" + d.Default + "`"
	if o := d.Otherwise; o.Key != "" {
		text += fmt.Sprintf(", or `%s` with `%s: %s`", o.Default, o.Key, o.Value)
	}
	return text
}

// cell escapes a text for a table cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
