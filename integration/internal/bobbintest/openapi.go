package bobbintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Page is the part of docs/openapi.yaml that tests read.
type Page struct {
	Paths      map[string]map[string]Operation `yaml:"paths"` // by path, and by method in lower case
	Components struct {
		Schemas map[string]*Schema `yaml:"schemas"`
	} `yaml:"components"`
}

// Operation is a method of a path.
type Operation struct {
	Summary   string `yaml:"summary"`
	Right     string `yaml:"x-right"`
	Responses map[string]struct {
		Content map[string]struct {
			Schema *Schema `yaml:"schema"`
		} `yaml:"content"`
	} `yaml:"responses"`
}

// Schema describes a JSON value, in the part of OpenAPI's language that the page uses. The zero
// Schema allows any value.
type Schema struct {
	Ref        string             `yaml:"$ref"`
	Type       string             `yaml:"type"`
	Format     string             `yaml:"format"`
	Nullable   bool               `yaml:"nullable"`
	Required   []string           `yaml:"required"`
	Properties map[string]*Schema `yaml:"properties"`
	Items      *Schema            `yaml:"items"`
	Others     *Schema            `yaml:"additionalProperties"`
}

// OpenAPI reads the page that describes REST, docs/openapi.yaml. A program that is built with -trimpath does not know
// where its source was.
func OpenAPI(t testing.TB, path string) *Page {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var p Page
	if err := yaml.Unmarshal(content, &p); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	return &p
}

// Check returns the differences between the page and an answer to a method of a path: another
// status, or a body that the page does not describe. A refusal must be one of refusals.
func (p *Page) Check(o Operation, a Answer, refusals ...int) []string {
	told, success := o.Responses[fmt.Sprint(a.Status)]
	if !success {
		if !slices.Contains(refusals, a.Status) {
			return []string{"unexpected " + a.String()}
		}
		told = o.Responses["default"]
	}
	media, is := told.Content["application/json"]
	if !is {
		return nil // a page or bytes
	}
	var value any
	if err := json.Unmarshal([]byte(a.Body), &value); err != nil {
		return []string{fmt.Sprintf("%v: %s", err, a)}
	}
	return p.faults(media.Schema, value, "$")
}

// faults returns the differences of a value, each with its place.
func (p *Page) faults(s *Schema, value any, at string) []string {
	if name, is := strings.CutPrefix(s.Ref, "#/components/schemas/"); is {
		if s = p.Components.Schemas[name]; s == nil {
			return []string{at + ": no schema is named " + name}
		}
	}
	wrong := func() []string { return []string{fmt.Sprintf("%s: %.100q is no %s", at, fmt.Sprint(value), s.Type)} }
	if value == nil && s.Nullable {
		return nil
	}
	switch s.Type {
	case "string":
		if _, is := value.(string); !is {
			return wrong()
		}
	case "boolean":
		if _, is := value.(bool); !is {
			return wrong()
		}
	case "integer", "number":
		n, is := value.(float64)
		if !is || s.Type == "integer" && n != math.Trunc(n) {
			return wrong()
		}
	case "array":
		list, is := value.([]any)
		if !is {
			return wrong()
		}
		var found []string
		for i, item := range list {
			found = append(found, p.faults(s.Items, item, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return found
	case "object":
		object, is := value.(map[string]any)
		if !is {
			return wrong()
		}
		return p.objectFaults(s, object, at)
	case "":
	default:
		return []string{at + ": schemas of type " + s.Type + " are not understood"}
	}
	return nil
}

func (p *Page) objectFaults(s *Schema, object map[string]any, at string) (found []string) {
	for _, name := range s.Required {
		if _, is := object[name]; !is {
			found = append(found, at+": "+name+" is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		schema := s.Properties[name]
		if schema == nil {
			schema = s.Others
		}
		if schema == nil {
			found = append(found, at+": "+name+" is not on the page")
			continue
		}
		found = append(found, p.faults(schema, object[name], at+"."+name)...)
	}
	return found
}
