// Package heldtest measures the memory of a decoded value, for tests of bounds that apply before
// decoding.
//
// It starts no goroutine, and only tests import it.
package heldtest

import (
	"math/bits"
	"reflect"
)

// By returns the memory that a value of texts, numbers, lists, maps and structs holds in addition
// to itself, in bytes. Lists count with their capacity.
func By(value any) int { return by(reflect.ValueOf(value)) }

func by(v reflect.Value) int {
	size := 0
	switch v.Kind() {
	case reflect.String:
		size = v.Len()
	case reflect.Slice:
		size = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			size += by(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			size += by(field)
		}
	case reflect.Map:
		if v.IsNil() {
			break
		}
		size = mapSize(v)
		for _, key := range v.MapKeys() {
			size += by(key) + by(v.MapIndex(key))
		}
	default: // holds no other memory
	}
	return size
}

// mapSize bounds the memory of a map: groups of eight entries with a control byte each, at most
// seven eighths full if there is more than one group.
func mapSize(v reflect.Value) int {
	const header, group = 64, 8
	slots := group
	if n := v.Len(); n > group {
		slots = 1 << bits.Len(uint(n*group/(group-1)))
	}
	return header + slots*(1+int(v.Type().Key().Size()+v.Type().Elem().Size()))
}
