package codec

import "unsafe"

// OfSlice is the codec of slices whose elements have a codec of their own. For each element it has its length as a uvarint, and
// its encoding. Nil and empty slices have the same encoding, and come back as nil.
func OfSlice[T any](elem Codec[T]) Codec[[]T] {
	c := Codec[[]T]{
		Name: "list(" + elem.Name + ")",
		Append: func(dst []byte, list []T) (_ []byte, err error) {
			for i := range list {
				start := len(dst)
				if dst, err = elem.Append(append(dst, 0), list[i]); err != nil {
					return nil, err
				}
				dst = setLength(dst, start)
			}
			return dst, nil
		},
		Decode: func(src []byte) (list []T, err error) {
			for rest := src; len(rest) > 0; {
				var encoded []byte
				if encoded, rest, err = SplitKV(rest); err != nil {
					return nil, err
				}
				v, err := elem.Decode(encoded)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			return list, nil
		},
		Size: func(list []T) int64 {
			total := int64(cap(list)) * int64(unsafe.Sizeof(*new(T)))
			if elem.Size != nil {
				for _, v := range list {
					total += elem.Size(v)
				}
			}
			return total
		},
	}
	if elem.Own != nil {
		c.Own = func(list []T) (_ []T, err error) {
			owned := make([]T, len(list))
			for i, v := range list {
				if owned[i], err = elem.Own(v); err != nil {
					return nil, err
				}
			}
			return owned, nil
		}
	}
	return c
}
