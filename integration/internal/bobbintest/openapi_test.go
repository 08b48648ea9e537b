package bobbintest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// If Check accepted a wrong answer, the test of REST could never fail.
func TestFaultsOfAnswersAreFound(t *testing.T) {
	t.Parallel()
	var page Page
	err := yaml.Unmarshal([]byte(`
paths:
  /thing:
    get:
      responses:
        "200": {content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}}
        default: {content: {application/json: {schema: {type: array, items: {type: string}}}}}
components:
  schemas:
    Thing:
      type: object
      required: [id, more]
      properties:
        id: {type: integer}
        more: {type: object, additionalProperties: {type: boolean}, nullable: true}
        list: {type: array, items: {type: number}}
        lost: {$ref: '#/components/schemas/Nobody'}
        any: {}
`), &page)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string][]string{
		`{"id": 1, "more": {"a": true}, "list": [1.5], "any": [{}]}`: nil,
		`{"id": 1, "more": null}`:                                    nil,
		`{"id": 1.5, "more": {"a": 1}, "list": ["x"]}`:               {`$.id: "1.5" is no integer`, `$.list[0]: "x" is no number`, `$.more.a: "1" is no boolean`},
		`{"id": null, "list": {}, "other": 1}`:                       {`$: more is missing`, `$.id: "<nil>" is no integer`, `$.list: "map[]" is no array`, `$: other is not on the page`},
		`{"id": 1, "more": {}, "lost": 1}`:                           {`$.lost: no schema is named Nobody`},
		`[]`:                                                         {`$: "[]" is no object`},
		`{`:                                                          {`unexpected end of JSON input: status 200: {`},
	} {
		if diff := cmp.Diff(want, page.Check(page.Paths["/thing"]["get"], Answer{Status: 200, Body: body})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	refused := Answer{Status: 404, Body: `["no"]`}
	if got := page.Check(page.Paths["/thing"]["get"], refused); len(got) != 1 {
		t.Errorf("an unexpected refusal: %q", got)
	}
	if got := page.Check(page.Paths["/thing"]["get"], refused, 404); len(got) != 0 {
		t.Errorf("an expected refusal: %q", got)
	}
}
