package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ErrUsage is the cause of every fault in a command line.
var ErrUsage = errors.New("usage")

// splitArguments separates a command's own flags from its arguments. The first word that is neither a flag nor
// a flag's value ends the flags, and everything after it stays unchanged. splitArguments rewrites three forms
// for the flag package: -Dk=v becomes -D k=v, -p2 becomes -p=2, and Flink's -yjm becomes --jobManagerMemory
// (yarnName). An unknown flag is an error that gives the reason or the nearest known flag.
func splitArguments(flags []cli.Flag, words []string) (options, rest []string, err error) {
	takesValue := make(map[string]bool)
	for _, flag := range flags {
		documented, ok := flag.(cli.DocGenerationFlag)
		for _, name := range flag.Names() {
			takesValue[name] = ok && documented.TakesValue()
		}
	}
	takesValue["h"], takesValue["help"] = false, false
	valued := "" // the last flag whose value is the next word, and that word
	for len(words) > 0 {
		word := words[0]
		if word == "--" {
			return options, words[1:], nil
		}
		if len(word) < 2 || word[0] != '-' {
			return options, words, nil
		}
		words = words[1:]
		if definition, ok := strings.CutPrefix(word, "-D"); ok && definition != "" && takesValue["D"] {
			options = append(options, "-D", definition)
			continue
		}
		if definition, ok := strings.CutPrefix(word, "-yD"); ok && definition != "" && takesValue["D"] {
			options = append(options, "-D", definition)
			continue
		}
		word = withEquals(word, takesValue)
		name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		needsValue, known := takesValue[name]
		if long := yarnName(name); long != "" && !known {
			if needsValue, known = takesValue[long]; known {
				name, word = long, dashed(long)
				if hasValue {
					word += "=" + value
				}
			}
		}
		if !known {
			return nil, nil, unknownFlag(word, name, valued, takesValue)
		}
		options = append(options, word)
		if needsValue && !hasValue {
			if len(words) == 0 {
				return nil, nil, fmt.Errorf("%w: flag %s needs a value", ErrUsage, word)
			}
			valued = word + " " + words[0]
			options, words = append(options, words[0]), words[1:]
		}
	}
	return options, nil, nil
}

// withEquals turns -p2 into -p=2, and returns any other word unchanged. No flag has a digit in its name.
func withEquals(word string, takesValue map[string]bool) string {
	digits := strings.IndexAny(word, "0123456789=")
	if digits < 2 || word[digits] == '=' || strings.HasPrefix(word, "--") {
		return word
	}
	name := word[1:digits]
	if long := yarnName(name); takesValue[name] || long != "" && takesValue[long] {
		return word[:digits] + "=" + word[digits:]
	}
	return word
}

// unknownFlag names the flag, and the flag before it, which may have taken the program's name as its value.
func unknownFlag(word, name, before string, known map[string]bool) error {
	if why := foreign(name); why != "" {
		return fmt.Errorf("%w: flag %s of Flink %s", ErrUsage, word, why)
	}
	names := make([]string, 0, len(known))
	for k := range known {
		if len(k) > 2 || len(name) <= 2 { // every other name is near a short one
			names = append(names, k)
		}
	}
	slices.Sort(names)
	if before != "" {
		word += fmt.Sprintf(" after %q", before)
	}
	nearest := config.Nearest(name, names)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }); i >= 0 {
		nearest = names[i]
	}
	if nearest != "" {
		return fmt.Errorf("%w: unknown flag %s: did you mean %s? See --help", ErrUsage, word, dashed(nearest))
	}
	return fmt.Errorf("%w: unknown flag %s: see --help", ErrUsage, word)
}

func dashed(name string) string {
	if len(name) <= 2 {
		return "-" + name
	}
	return "--" + name
}
