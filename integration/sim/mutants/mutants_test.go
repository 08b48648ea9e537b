package main

import "testing"

// TestMutantsHaveTheirPlace would catch a mutant whose code has changed: it would not be planted.
func TestMutantsHaveTheirPlace(t *testing.T) {
	t.Chdir("../../..")
	names := make(map[string]bool)
	for _, m := range mutants {
		if _, err := m.plant(); err != nil {
			t.Error(err)
		}
		if names[m.name] {
			t.Errorf("two mutants have the name %q", m.name)
		}
		names[m.name] = true
	}
}
