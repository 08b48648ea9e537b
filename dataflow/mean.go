package dataflow

import (
	"math/big"
	"math/bits"
)

// Avg emits for each key the mean of value(element), when the input has ended. The sum of integers is exact, and their mean is the
// float64 next to the true one. The sum of floats is a float64 and rounded after each addition, so its last digits depend on the
// order of the elements. It combines elements and uses memory like Count.
func Avg[K, T any, N Number](k Keyed[K, T], value func(T) N, o ...Option) Stream[KV[K, float64]] {
	a := Aggregator[T, mean, float64]{
		Add:    func(m mean, v T) mean { return m.plus(meanOf(value(v))) },
		Merge:  mean.plus,
		Result: mean.value,
	}
	return tryAggregate(k, k.settle("avg", o, value), a.try())
}

// mean is the sum of some numbers, and how many they are.
type mean struct {
	Count uint64
	// High and Low are the sum of integers, in two's complement with 128 bits. 2^64 integers of 64 bits do not exceed that.
	High  int64
	Low   uint64
	Float float64 // the sum of floats
}

// meanOf is the mean of one number.
func meanOf[N Number](n N) mean {
	switch one := N(1); {
	case one/2 != 0:
		return mean{Count: 1, Float: float64(n)}
	case n < 0:
		return mean{Count: 1, High: -1, Low: uint64(n)}
	default:
		return mean{Count: 1, Low: uint64(n)}
	}
}

func (m mean) plus(other mean) mean {
	low, carry := bits.Add64(m.Low, other.Low, 0)
	return mean{m.Count + other.Count, m.High + other.High + int64(carry), low, m.Float + other.Float} // the carry is 0 or 1
}

// exactInt bounds the integers that all are a float64.
const exactInt = 1 << 53

func (m mean) value() float64 {
	sum := int64(m.Low) // compared with High below
	switch {
	case m.High == 0 && m.Low == 0:
		return m.Float / float64(m.Count)
	case m.Count <= exactInt && m.High == sum>>63 && -exactInt <= sum && sum <= exactInt:
		return float64(sum) / float64(m.Count) // one rounding
	}
	total := new(big.Int).Lsh(big.NewInt(m.High), 64)
	total.Add(total, new(big.Int).SetUint64(m.Low))
	nearest, _ := new(big.Rat).SetFrac(total, new(big.Int).SetUint64(m.Count)).Float64()
	return nearest
}
