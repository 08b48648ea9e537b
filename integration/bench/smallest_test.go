package main

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestTheSmallestSizeIsFound would catch a search that ends one step too early or too late, that asks for a size below the step or
// above the limit, or that tries all sizes.
func TestTheSmallestSizeIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.IntRange(1, 64).Draw(t, "step")
		steps := rapid.IntRange(1, 1000).Draw(t, "steps")
		needed := rapid.IntRange(1, steps*step).Draw(t, "needed")
		tries := 0
		got, err := smallest(steps*step, step, func(size int) (bool, error) {
			if tries++; size < step || size > steps*step || size%step != 0 {
				t.Fatalf("tries %d", size)
			}
			return size >= needed, nil
		})
		want := (needed + step - 1) / step * step
		if err != nil || got != want || tries > 11 {
			t.Fatalf("%d after %d tries (%v), want %d", got, tries, err, want)
		}
	})
}

func TestASearchEndsWithItsError(t *testing.T) {
	t.Parallel()
	if size, err := smallest(96, 32, func(int) (bool, error) { return false, nil }); !errors.Is(err, errNeverFinishes) {
		t.Errorf("%d, %v, want errNeverFinishes", size, err)
	}
	broken := errors.New("broken")
	if size, err := smallest(96, 32, func(size int) (bool, error) {
		if size < 96 {
			return false, broken
		}
		return true, nil
	}); !errors.Is(err, broken) {
		t.Errorf("%d, %v, want the error of a try", size, err)
	}
}
