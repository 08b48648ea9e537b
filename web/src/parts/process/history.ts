// Values of metrics that this tab has seen, for charts.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Polled } from '../../lib/poll'
import { usePoll } from '../../lib/poll'

/** A metric as REST gives it; without get, it has no value. */
export interface Metric {
  id: string
  value?: string
}

export interface Seen {
  times: number[] // ms since 1970
  values: Map<string, (number | null)[]> // of each metric, one for each time
  newest: Map<string, number>
  polled: Polled<Metric[]>
}

/** mostSeen is the number of values that are kept of each metric: 15 minutes at 3 s. */
export const mostSeen = 300

/** add adds one answer. A metric that is missing in it has null there. */
export function add(to: Pick<Seen, 'times' | 'values'>, names: string[], answer: Metric[], now: number): Pick<Seen, 'times' | 'values'> {
  const drop = to.times.length >= mostSeen ? 1 : 0
  const by = new Map(answer.map((m) => [m.id, Number(m.value)]))
  const values = new Map(names.map((name) => {
    const n = by.get(name)
    return [name, [...(to.values.get(name) ?? to.times.map(() => null)).slice(drop), n === undefined || !Number.isFinite(n) ? null : n]]
  }))
  return { times: [...to.times.slice(drop), now], values }
}

/** ratesOf returns the growth of a counter per second, from one time to the next. */
export function ratesOf(times: number[], values: (number | null)[] | undefined): (number | null)[] {
  return times.map((t, i) => {
    const now = values?.[i]
    const before = i > 0 ? values?.[i - 1] : undefined
    if (now == null || before == null || now < before) return null // it has begun again
    return ((now - before) * 1000) / Math.max(1, t - times[i - 1]!)
  })
}

/** useSeen polls metrics of a process, and remembers their values while the part is shown. */
export function useSeen(path: string, names: string[], everyMs = 3000): Seen {
  const polled = usePoll<Metric[]>(`${path}?get=${names.map(encodeURIComponent).join(',')}`, everyMs)
  const kept = useRef<Pick<Seen, 'times' | 'values'>>({ times: [], values: new Map() })
  const [, changed] = useState(0)
  useEffect(() => {
    kept.current = { times: [], values: new Map() }
  }, [path])
  useEffect(() => {
    if (!polled.data || polled.at === undefined || polled.error) return
    kept.current = add(kept.current, names, polled.data, polled.at)
    changed((n) => n + 1)
  }, [polled.at, polled.error])
  return { ...kept.current, newest: new Map((polled.data ?? []).map((m) => [m.id, Number(m.value)])), polled }
}
