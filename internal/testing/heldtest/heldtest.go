// Package heldtest tells how much memory a decoded value holds, for tests of what bounds it
// before it is decoded.
//
// It starts no goroutine, and only tests import it.
package heldtest

import (
	"math/bits"
	"reflect"
)

// By is the memory that a value of texts, numbers, lists, maps and structs holds beside itself, in
// bytes. Lists count with the room that they have to grow.
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
	default: // holds nothing
	}
	return size
}

// mapSize bounds what a map takes: groups of eight entries with a byte each for control, at most seven
// eighths full once there are more than one.
func mapSize(v reflect.Value) int {
	const header, group = 64, 8
	slots := group
	if n := v.Len(); n > group {
		slots = 1 << bits.Len(uint(n*group/(group-1)))
	}
	return header + slots*(1+int(v.Type().Key().Size()+v.Type().Elem().Size()))
}
