package config

import "testing"

// TestEffectiveOptionsHoldDefaults would catch a page that shows only the options that were set.
func TestEffectiveOptionsHoldDefaults(t *testing.T) {
	c, err := New(Layer{Values: map[string]string{TaskSlots.Name(): "7", string(ContainerMasterEnv) + "X": "y"}})
	if err != nil {
		t.Fatal(err)
	}
	values := c.Effective()
	for name, want := range map[string]string{TaskSlots.Name(): "7", string(ContainerMasterEnv) + "X": "y", ClientTimeout.Name(): FormatDuration(c.Duration(ClientTimeout))} {
		if values[name] != want {
			t.Errorf("%s is %q, want %q", name, values[name], want)
		}
	}
	if _, known := values[YarnApplicationID.Name()]; known {
		t.Error("an option without a value has one")
	}
	if again, err := New(Layer{Values: values}); err != nil || again.Int(TaskSlots) != 7 {
		t.Errorf("what is shown cannot be given again: %v", err)
	}
	if _, changed := c.Set()[ClientTimeout.Name()]; changed {
		t.Error("the options have changed")
	}
}
