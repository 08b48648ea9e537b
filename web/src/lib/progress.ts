// How far a job is: the same words on all pages.
import type { JobState } from './api'
import { hasEnded } from './api'
import { count, plural } from './format'

export interface Progress {
  done: number
  all: number // not 0
  words: string // "14 of 40 input splits read"
}

/** progressOf counts the splits that the sources of a job have read, until they are all read; then, and for a job without splits, its subtasks. */
export function progressOf(
  state: JobState,
  tasks: { finished: number; running: number; total: number },
  vertices: Iterable<{ splits?: { read: number; all: number } }> = [],
): Progress | undefined {
  let read = 0
  let all = 0
  for (const { splits } of vertices) {
    read += splits?.read ?? 0
    all += splits?.all ?? 0
  }
  const { finished, running, total } = tasks
  const going = !hasEnded(state)
  if (going && running === 0 && finished === 0 && total > 0) return { done: 0, all: total, words: 'no subtask runs' }
  if (going && all > 0 && (read < all || finished === 0)) return { done: read, all, words: `${count(read)} of ${plural(all, 'input split')} read` }
  if (total <= 0) return undefined
  if (going && finished === 0) return { done: 0, all: total, words: `${count(running)} of ${plural(total, 'subtask')} running` }
  return { done: finished, all: total, words: `${count(finished)} of ${plural(total, 'subtask')} finished` }
}
