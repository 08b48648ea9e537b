package sim_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/sim"
)

// TestASchedulePrintsAllItsFields would catch a finding whose text runs another schedule, and is green.
func TestASchedulePrintsAllItsFields(t *testing.T) {
	t.Parallel()
	of := reflect.TypeFor[sim.Schedule]()
	for i := range of.NumField() {
		var s sim.Schedule
		field, name := reflect.ValueOf(&s).Elem().Field(i), of.Field(i).Name
		switch field.Kind() {
		case reflect.Int, reflect.Int64:
			field.SetInt(1)
		case reflect.Uint64:
			field.SetUint(1)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.String:
			field.SetString("x")
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			t.Fatalf("field %s has a kind that this test does not know", name)
		}
		if text := s.String(); text == (sim.Schedule{}).String() || !strings.Contains(text, name+": ") {
			t.Errorf("field %s is not in %s", name, text)
		}
	}
}
