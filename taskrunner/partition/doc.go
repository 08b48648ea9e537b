// Package partition has the file of a blocking partition: the records of one output of one task, sorted by subpartition. There is a
// subpartition for each task that reads the output.
//
// A Writer collects records in bounded memory. When that is full, it sorts them by subpartition and appends them to the file, as a
// region:
//
//	file    region ... │ table │ footer
//	region  blocks of subpartition 0 │ blocks of subpartition 1 │ ... │ index
//	index   the place of each subpartition's blocks, and of its next place
//	table   the first place of each subpartition
//
// A File reads the blocks of one subpartition after the other. It goes from place to place, so regions without records of the
// subpartition cost nothing. The memory of both ends grows neither with the records nor with the number of subpartitions times
// regions: a reader looks up each place in the file.
//
// The records in blocks are framed as package exchange frames them in buffers, and no block is larger than the payload of a buffer. So
// a server sends blocks as they are. A record may continue in the next block of its region.
//
// Blocks, places and the footer have checksums, which depend on their offset. So a damaged file gives ErrCorrupt and never a wrong
// record. Nothing is synced: a file is of no use after its machine has stopped.
//
// The package starts no goroutines, and imports nothing of this module.
package partition
