package randomjobs

import (
	"errors"
	"strconv"
)

// The functions of the operators, on records.

// mapped keeps the key in most cases, and the text.
func mapped(r Record, salt uint64) Record {
	h := r.hash(salt)
	r.N += int64(h % 5)
	if h%7 == 0 {
		r.K = int64(h % maxKey)
	}
	return r
}

func kept(r Record, salt uint64) bool { return r.hash(salt)%4 != 0 }

// flattened is 0 to 3 records.
func flattened(r Record, salt uint64) (all []Record) {
	for i := range r.hash(salt) % 4 {
		all = append(all, Record{r.K, r.N + int64(i), r.S})
	}
	return all
}

var errRejected = errors.New("rejected")

// tried fails for some records.
func tried(r Record, salt uint64) (Record, error) {
	if r.hash(salt)%5 == 0 {
		return Record{}, errRejected
	}
	r.N++
	return r, nil
}

// ofRejected is a rejected element as a record.
func ofRejected(r Record, reason string) Record { return Record{r.K, r.N, reason + r.S} }

// split tells to which outputs a record goes.
func split(r Record, salt uint64) (main, side bool) {
	switch r.hash(salt) % 3 {
	case 0:
		return true, true
	case 1:
		return false, true
	default:
		return true, false
	}
}

func channel(r Record, salt uint64, channels int) int {
	return int(r.hash(salt) % uint64(channels))
}

// limited stands for an element behind a limit.
func limited() Record { return Record{S: "limited"} }

// sortKey is the value by which Sort sorts.
func sortKey(r Record) int64 { return r.N }

// combined is associative and commutative.
func combined(a, b Record) Record { return Record{a.K, a.N + b.N, max(a.S, b.S)} }

// summary is what is left of any number of records, in any order.
type summary struct {
	Count, Sum int64
	Hash       uint64
	Last       string          // the greatest text
	Tails      map[int64]int64 // how often each last digit has come
}

// add changes s, as an aggregator may.
func (s summary) add(r Record) summary {
	if s.Tails == nil {
		s.Tails = map[int64]int64{}
	}
	s.Tails[r.N%10]++
	s.Count, s.Sum, s.Hash, s.Last = s.Count+1, s.Sum+r.N, s.Hash+r.hash(0), max(s.Last, r.S)
	return s
}

func (s summary) merge(o summary) summary {
	if s.Tails == nil {
		s.Tails = map[int64]int64{}
	}
	for digit, n := range o.Tails {
		s.Tails[digit] += n
	}
	return summary{s.Count + o.Count, s.Sum + o.Sum, s.Hash + o.Hash, max(s.Last, o.Last), s.Tails}
}

// record is the summary of the records with a key.
func (s summary) record(key int64) Record {
	text := strconv.AppendUint(nil, s.Hash, 36)
	for digit := int64(-9); digit <= 9; digit++ {
		text = strconv.AppendInt(append(text, ' '), s.Tails[digit], 10)
	}
	return Record{key, s.Sum ^ s.Count, string(text) + s.Last}
}

// ofBoth is the record of both sides of a key.
func ofBoth(key int64, left, right summary) Record {
	return Record{key, left.Sum - right.Sum, strconv.FormatUint(left.Hash^right.Hash, 36) + max(left.Last, right.Last)}
}

// ranked is an element of the n largest of a key.
func ranked(key int64, rank int, r Record) Record { return Record{key, r.N, strconv.Itoa(rank) + r.S} }

// joined is the record of a pair. One of both may be nil.
func joined(left, right *Record) Record {
	switch {
	case right == nil:
		return Record{left.K, left.N, "left" + left.S}
	case left == nil:
		return Record{right.K, right.N, "right" + right.S}
	}
	h := left.hash(right.hash(0))
	return Record{left.K, left.N + 3*right.N, strconv.FormatUint(h, 36)}
}

// withList is a record that has seen a list.
func withList(r Record, list summary) Record {
	return Record{r.K, r.N + list.Sum, r.S + strconv.FormatUint(list.Hash, 36)}
}
