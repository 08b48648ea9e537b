package budget

import (
	"testing"
	"testing/synctest"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestTheRoomIsNoLargerThanItsMemory would catch bodies that take more than their memory, with what is
// decoded from them and with the small texts of all connections.
func TestTheRoomIsNoLargerThanItsMemory(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.RESTMaxContentLength.Name(): "100m"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, memory := range []int64{16 << 20, 32 << 20, 64 << 20, 512 << 20} {
		synctest.Test(t, func(t *testing.T) {
			room, held := NewRoom(memory, options), int64(0)
			for _, size := range []int{room.Largest(), MiddleText + 1, MiddleText, smallText + 1} {
				for {
					if _, err := room.Hold(t.Context(), size); err != nil {
						break
					}
					held += int64(size)
				}
			}
			if took := held*(1+growth) + smallMemory; took > memory || took < memory*9/10 {
				t.Errorf("%d bytes hold %d of bodies, which take %d", memory, held, took)
			}
		})
	}
}

// TestBodiesShareTheMastersMemory would catch an option that lets requests alone fill a small
// ApplicationMaster, and a smaller option that has no effect.
func TestBodiesShareTheMastersMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		option       string
		memory, want int64
	}{
		"a small master":           {"100m", 66 << 20, (10<<20 - 10<<20/8) / 2},
		"a large one":              {"100m", 6 << 30, 100 << 20},
		"a small option":           {"1m", 60 << 20, 1 << 20},
		"memory that has no bound": {"100m", 0, 100 << 20},
	} {
		options, err := config.New(config.Layer{Source: "test", Values: map[string]string{config.RESTMaxContentLength.Name(): test.option}})
		if err != nil {
			t.Fatal(err)
		}
		if got := int64(NewRoom(test.memory, options).Largest()); got != test.want {
			t.Errorf("%s: bodies of %d bytes, want %d", name, got, test.want)
		}
	}
}
