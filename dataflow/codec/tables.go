package codec

import (
	"reflect"
	"unsafe"
)

// tables are the operations on the maps of one type. A pointer to a map is a pointer to its variable.
type tables struct {
	t reflect.Type
	// length is the number of entries, or -1 for nil.
	length func(p unsafe.Pointer) int
	// each calls do for each entry, with pointers to copies that do must not keep.
	each func(p unsafe.Pointer, do func(key, elem unsafe.Pointer) error) error
	// fill sets the variable to a map of n entries. next sets one entry, to which it gets pointers that it must not keep. distinct is
	// the number of keys. room bounds the entries for which memory is allocated before next was called.
	fill func(p unsafe.Pointer, n, room int, next func(key, elem unsafe.Pointer) error) (distinct int, err error)
}

// tablesOf returns the operations on maps of a type. Those of the most common types are compiled code. Those of others use reflection for
// each entry.
func tablesOf(t reflect.Type) tables {
	for _, of := range [][]tables{typedBy[string](), typedBy[int](), typedBy[int32](), typedBy[int64](), typedBy[uint64]()} {
		for _, known := range of {
			if known.t == t {
				return known
			}
		}
	}
	return reflected(t)
}

// typedBy returns the operations on the common maps with a type of keys.
func typedBy[K comparable]() []tables {
	return []tables{
		typed[K, string](), typed[K, bool](), typed[K, int](), typed[K, int32](), typed[K, int64](), typed[K, uint64](),
		typed[K, float64](),
	}
}

// typed returns the operations on a type of maps whose entries have no methods. So nothing keeps a pointer to an entry, which can stay
// on the stack: see hide.
func typed[K comparable, V any]() tables {
	return tables{
		t: reflect.TypeFor[map[K]V](),
		length: func(p unsafe.Pointer) int {
			table := *(*map[K]V)(p)
			if table == nil {
				return -1
			}
			return len(table)
		},
		each: func(p unsafe.Pointer, do func(key, elem unsafe.Pointer) error) error {
			for key, elem := range *(*map[K]V)(p) {
				if err := do(hide(unsafe.Pointer(&key)), hide(unsafe.Pointer(&elem))); err != nil { //nolint:gosec // do keeps no pointer
					return err
				}
			}
			return nil
		},
		fill: func(p unsafe.Pointer, n, room int, next func(key, elem unsafe.Pointer) error) (int, error) {
			table := make(map[K]V, min(n, room))
			for range n {
				var key K
				var elem V
				if err := next(hide(unsafe.Pointer(&key)), hide(unsafe.Pointer(&elem))); err != nil { //nolint:gosec // next keeps no pointer
					return 0, err
				}
				table[key] = elem
			}
			*(*map[K]V)(p) = table
			return len(table), nil
		},
	}
}

// reflected returns the operations on any type of maps.
func reflected(t reflect.Type) tables {
	at := func(p unsafe.Pointer) reflect.Value {
		table := *(*unsafe.Pointer)(p)                         // on the heap: reflect may keep p
		return reflect.NewAt(t, unsafe.Pointer(&table)).Elem() //nolint:gosec // a map is one pointer
	}
	return tables{
		t: t,
		length: func(p unsafe.Pointer) int {
			if *(*unsafe.Pointer)(p) == nil {
				return -1
			}
			return at(p).Len()
		},
		each: func(p unsafe.Pointer, do func(key, elem unsafe.Pointer) error) error {
			key, elem := reflect.New(t.Key()), reflect.New(t.Elem())
			for entry := at(p).MapRange(); entry.Next(); {
				key.Elem().SetIterKey(entry)
				elem.Elem().SetIterValue(entry)
				if err := do(key.UnsafePointer(), elem.UnsafePointer()); err != nil {
					return err
				}
			}
			return nil
		},
		fill: func(p unsafe.Pointer, n, room int, next func(key, elem unsafe.Pointer) error) (int, error) {
			table := reflect.MakeMapWithSize(t, min(n, room))
			key, elem := reflect.New(t.Key()), reflect.New(t.Elem())
			for range n {
				if err := next(key.UnsafePointer(), elem.UnsafePointer()); err != nil {
					return 0, err
				}
				table.SetMapIndex(key.Elem(), elem.Elem())
			}
			*(*unsafe.Pointer)(p) = table.UnsafePointer()
			return table.Len(), nil
		},
	}
}
