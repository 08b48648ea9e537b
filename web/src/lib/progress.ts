// How far a job is: the same words on all pages.
import type { JobState } from './api'
import { hasEnded } from './api'
import { bytes, count, percent, plural } from './format'

/** The splits of a source, and their bytes: those of a split that is being read count at once. A master of an earlier release tells no bytes. */
export interface Splits {
  read: number
  all: number
  'read-bytes'?: number
  'all-bytes'?: number // 0: not known
}

export interface Progress {
  done: number
  all: number // not 0
  words: string // "26.4 MB of 104 MB of input read, 0 of 16 splits done"
}

/** inputWords says in short how far a source is: "25 % of input read, 0 of 16 splits done". */
export function inputWords({ read, all, 'read-bytes': some, 'all-bytes': whole }: Splits): string {
  const splits = `${count(read)} of ${plural(all, 'split')} done`
  return whole ? `${percent((some ?? 0) / whole)} of input read, ${splits}` : splits
}

/** progressOf counts the bytes of the splits that the sources of a job have read, until all splits are done; then, and for a job without splits, its subtasks. */
export function progressOf(
  state: JobState,
  tasks: { finished: number; running: number; total: number },
  vertices: Iterable<{ splits?: Splits }> = [],
): Progress | undefined {
  let read = 0
  let all = 0
  let readBytes = 0
  let allBytes = 0
  let measured = true // the bytes of all sources are known
  for (const { splits } of vertices) {
    if (!splits) continue
    read += splits.read
    all += splits.all
    readBytes += splits['read-bytes'] ?? 0
    allBytes += splits['all-bytes'] ?? 0
    measured &&= (splits['all-bytes'] ?? 0) > 0
  }
  const { finished, running, total } = tasks
  const going = !hasEnded(state)
  if (going && running === 0 && finished === 0 && total > 0) return { done: 0, all: total, words: 'no subtask runs' }
  if (going && all > 0 && (read < all || finished === 0)) {
    const splits = `${count(read)} of ${plural(all, measured ? 'split' : 'input split')} done`
    return measured ? { done: readBytes, all: allBytes, words: `${bytes(readBytes)} of ${bytes(allBytes)} of input read, ${splits}` } : { done: read, all, words: splits }
  }
  if (total <= 0) return undefined
  if (going && finished === 0) return { done: 0, all: total, words: `${count(running)} of ${plural(total, 'subtask')} running` }
  return { done: finished, all: total, words: `${count(finished)} of ${plural(total, 'subtask')} finished` }
}
