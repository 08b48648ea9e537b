// Polling of REST paths by the parts of the page.
import { useEffect, useState } from 'preact/hooks'
import type { Polled } from './poller'
import { first, read, stateOf } from './poller'

export type { Polled } from './poller'
export { refresh, refreshLast } from './poller'

/** usual is how often, in ms, what changes all the time is asked for: Flink's web.refresh-interval. */
export const usual = 3000

/** usePoll polls a path of REST, relative to the page: "jobs/overview". null: nothing is asked. */
export function usePoll<T>(path: string | null, everyMs = usual): Polled<T> {
  return usePolls<T>(path === null ? [] : [path], everyMs)[0] ?? first
}

/** usePolls polls several paths. Its answers are in their order. */
export function usePolls<T>(paths: string[], everyMs = usual): Polled<T>[] {
  const [, changed] = useState(0)
  useEffect(() => {
    const reader = () => changed((n) => n + 1)
    const ends = paths.map((path) => read(path, reader, everyMs))
    reader() // what another part was told before
    return () => ends.forEach((end) => end())
  }, [paths.join('\n'), everyMs])
  return paths.map((path) => stateOf(path) as Polled<T>)
}
