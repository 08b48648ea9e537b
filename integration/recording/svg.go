package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/integration/internal/screen"
)

// Sizes in the picture, in pixels.
const (
	cellWidth  = 8.4
	lineHeight = 18
	pitch      = lineHeight + 8 // from one content of a strip to the next: some fonts' blocks are higher than a line
	baseline   = 13.5
	margin     = 16
)

// style is the part of the picture's style sheet that is always the same. Colours are dark enough, or light enough, to be read
// on the background (4.5 to 1).
const style = `svg{--b:#ffffff;--l:#d0d7de;--t:#1f2328;--f:#636c76;--a:#0b6e87;--g:#1a7f37;--w:#8a5a00;--r:#c62828;--c:#0550ae}
@media(prefers-color-scheme:dark){svg{--b:#0d1117;--l:#30363d;--t:#e6edf3;--f:#8b949e;--a:#56d4dd;--g:#3fb950;--w:#e3b341;--r:#ff7b72;--c:#79c0ff}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre;fill:var(--t)}
.f{fill:var(--f)}.a{fill:var(--a)}.g{fill:var(--g)}.w{fill:var(--w)}.r{fill:var(--r)}.c{fill:var(--c)}.b{font-weight:700}.v{fill:var(--b)}
.s{animation-timing-function:step-end;animation-iteration-count:infinite}
@media(prefers-reduced-motion:reduce){.s{animation:none!important}}
`

// picture draws a film as an animated SVG: each line of the terminal is a strip, which moves up and down behind a window of one
// line. It has no script. Without motion it shows the end.
func picture(f film, title, description string) string {
	width, height := 2*margin+columns*cellWidth, 2*margin+lines*lineHeight
	var styles, body strings.Builder
	for y := range lines {
		var s strip
		for _, now := range f.frames {
			s.add(now.at, markup(now.rows[y]))
		}
		name := fmt.Sprintf("l%d", y)
		f.animate(&styles, name, s.steps, func(what int) string { return fmt.Sprintf("translateY(%dpx)", -what*pitch) })
		fmt.Fprintf(&body, `<svg x="%d" y="%d" width="%g" height="%d"><g id="%s" class="s">`, margin, margin+y*lineHeight, columns*cellWidth, lineHeight, name)
		for i, content := range s.contents {
			if content != "" {
				fmt.Fprintf(&body, `<g transform="translate(0 %d)">%s</g>`, i*pitch, content)
			}
		}
		body.WriteString("</g></svg>\n")
	}
	f.drawCursor(&styles, &body)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]d" width="%[1]g" height="%[2]d" role="img" aria-labelledby="n d">
<title id="n">%[3]s</title><desc id="d">%[4]s</desc>
<style>%[5]s%[6]s</style>
<rect x=".5" y=".5" width="%[7]g" height="%[8]d" rx="8" style="fill:var(--b);stroke:var(--l)"/>
%[9]s</svg>
`, width, height, escaped(title), escaped(description), style, &styles, width-1, height-1, &body)
}

// escaped is a text in XML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder accepts everything
	return b.String()
}

// animate writes the rules of a strip. Its last step is where it rests.
func (f film) animate(styles *strings.Builder, name string, steps []step, transform func(what int) string) {
	fmt.Fprintf(styles, "#%s{transform:%s", name, transform(steps[len(steps)-1].what))
	if len(steps) > 1 {
		fmt.Fprintf(styles, ";animation-name:%s;animation-duration:%gs", name, f.lasts.Seconds())
	}
	styles.WriteString("}\n")
	if len(steps) == 1 {
		return
	}
	fmt.Fprintf(styles, "@keyframes %s{", name)
	for _, s := range steps {
		fmt.Fprintf(styles, "%.5g%%{transform:%s}", 100*float64(s.at)/float64(f.lasts), transform(s.what))
	}
	styles.WriteString("}\n")
}

// drawCursor draws the cursor. A hidden one is outside of the picture.
func (f film) drawCursor(styles, body *strings.Builder) {
	var s strip
	for _, now := range f.frames {
		place := "translate(-99px)"
		if now.cursor {
			place = fmt.Sprintf("translate(%.5gpx,%dpx)", float64(now.x)*cellWidth, now.y*lineHeight)
		}
		s.add(now.at, place)
	}
	f.animate(styles, "cursor", s.steps, func(what int) string { return s.contents[what] })
	fmt.Fprintf(body, `<g id="cursor" class="s"><rect x="%d" y="%d" width="%g" height="%d" style="fill:var(--t);opacity:.6"/></g>`+"\n", margin, margin+1, cellWidth, lineHeight-2)
}

// markup is a line of the terminal: a text for each run of cells with one style. Each has its place and its width, so that columns
// stand one below the other in any font.
func markup(row []screen.Cell) string {
	var b strings.Builder
	for x := 0; x < len(row); {
		style := row[x].Style
		if row[x].Text == " " && style&canvas.Reverse == 0 {
			x++
			continue
		}
		from := x
		var text strings.Builder
		for x < len(row) && row[x].Style == style && (style&canvas.Reverse != 0 || !gap(row[x:])) {
			text.WriteString(row[x].Text)
			x++
		}
		b.WriteString(textAt(from, style, text.String()))
	}
	return b.String()
}

// gap tells whether cells begin with two blanks, which need no text.
func gap(cells []screen.Cell) bool {
	return cells[0].Text == " " && (len(cells) == 1 || cells[1].Text == " ")
}

// textAt is a text with one style from column x on.
func textAt(x int, style canvas.Style, text string) string {
	var b strings.Builder
	left := float64(x) * cellWidth
	wide := float64(terminal.Cells(text)) * cellWidth
	classes := classesOf(style)
	if style&canvas.Reverse != 0 {
		fmt.Fprintf(&b, `<rect x="%.5g" width="%.5g" height="%d" style="fill:var(--t)"/>`, left, wide, lineHeight)
		classes = []string{"v"}
	}
	if strings.TrimSpace(text) == "" {
		return b.String()
	}
	b.WriteString(`<text y="` + fmt.Sprint(baseline) + `"`)
	if x > 0 {
		fmt.Fprintf(&b, ` x="%.5g"`, left)
	}
	if terminal.Cells(text) > 1 {
		fmt.Fprintf(&b, ` textLength="%.5g"`, wide)
	}
	if len(classes) > 0 {
		fmt.Fprintf(&b, ` class="%s"`, strings.Join(classes, " "))
	}
	b.WriteString(">" + escaped(text) + "</text>")
	return b.String()
}

// classesOf are the classes of the style sheet for a style.
func classesOf(style canvas.Style) []string {
	var classes []string
	for _, c := range []struct {
		colour canvas.Style
		class  string
	}{{canvas.Accent, "a"}, {canvas.Good, "g"}, {canvas.Warm, "w"}, {canvas.Bad, "r"}, {canvas.Cool, "c"}} {
		if style&^(canvas.Bold|canvas.Faint|canvas.Reverse) == c.colour {
			classes = append(classes, c.class)
		}
	}
	if len(classes) == 0 && style&canvas.Faint != 0 {
		classes = append(classes, "f")
	}
	if style&canvas.Bold != 0 {
		classes = append(classes, "b")
	}
	return classes
}
