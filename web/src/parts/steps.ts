// The time line of a start: which steps took how long.
import type { Step } from '../lib/api'

export interface Bar {
  name: string
  detail: string
  begin: number // ms since 1970
  length: number // ms, until now if the step goes on
  going: boolean
  from: number // as a part of the whole, 0 to 1
  size: number
  /** How long nothing happened before this step, in ms: a session waits for its first job. The scale leaves it out. */
  pause: number
}

export interface Start {
  bars: Bar[]
  whole: number // ms
  going: boolean
  longest?: Bar
}

/** shortestPause is a pause that the scale leaves out, in ms. Shorter ones are drawn. */
const shortestPause = 1000

/** startOf places the steps of a start on a common scale. Steps that have not begun are left out. */
export function startOf(steps: Step[], now: number): Start {
  const begun = steps.filter((s) => s.begin > 0).sort((a, b) => a.begin - b.begin)
  const first = begun[0]?.begin ?? 0
  let covered = first // the end of all steps so far
  let left = 0 // the pauses so far
  const placed = begun.map((s) => {
    const length = Math.max(0, (s.end ?? now) - s.begin)
    const pause = s.begin - covered >= shortestPause ? s.begin - covered : 0
    left += pause
    covered = Math.max(covered, s.begin + length)
    return { step: s, length, pause, at: s.begin - first - left }
  })
  const whole = Math.max(1, covered - first - left)
  const bars = placed.map(({ step: s, length, pause, at }) => (
    { name: s.name, detail: s.detail, begin: s.begin, length, pause, going: s.end === null, from: at / whole, size: length / whole }
  ))
  const longest = bars.reduce<Bar | undefined>((most, b) => (most === undefined || b.length > most.length ? b : most), undefined)
  return { bars, whole, going: bars.some((b) => b.going), longest }
}
