package codec

// Reversed returns a codec for the same keys whose encodings compare the other way round: the greatest key comes first. c must be
// Ordered, and so is the result.
//
// The encoding is c's, with each zero byte escaped and an end mark, so that none begins with another one; then all bits are flipped.
func Reversed[K any](c Codec[K]) Codec[K] {
	return Codec[K]{
		Name: "reversed(" + c.Name + ")",
		Append: func(dst []byte, v K) ([]byte, error) {
			start := len(dst)
			dst, err := c.Append(dst, v)
			if err != nil {
				return nil, err
			}
			dst = escape(dst, start)
			for i := start; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
			return dst, nil
		},
		Decode: func(src []byte) (v K, err error) {
			flipped := make([]byte, len(src))
			for i, b := range src {
				flipped[i] = ^b
			}
			text, rest, err := unescape(flipped)
			if err != nil || len(rest) > 0 {
				return v, corrupt("reversed key", src)
			}
			return c.Decode(text)
		},
		Size:    c.Size,
		Ordered: c.Ordered,
	}
}

// escape escapes what is behind start, and ends it, as appendEscaped does.
func escape(dst []byte, start int) []byte {
	zeros := 0
	for _, b := range dst[start:] {
		if b == 0 {
			zeros++
		}
	}
	end := len(dst)
	dst = append(dst, make([]byte, zeros+len(endOfText))...)
	to := len(dst) - len(endOfText)
	copy(dst[to:], endOfText)
	for from := end - 1; from >= start; from-- { // from behind, because the text grows
		if dst[from] == 0 {
			to -= len(escapeZero)
			copy(dst[to:], escapeZero)
			continue
		}
		to--
		dst[to] = dst[from]
	}
	return dst
}
