// Numbers of subtasks beside each other. The master decides which are outliers.
import { bytes, count, duration } from '../../lib/format'
import type { Io, Measure, Skew, Spread, Subtask, Summary } from './api'

const read: Record<Measure, keyof Io> = {
  'read-records': 'read-records', 'write-records': 'write-records', 'read-bytes': 'read-bytes', 'busy-time': 'accumulated-busy-time',
}

/** columnOf is the column of a table of subtasks that has a measure. */
export const columnOf: Record<Measure, string> = { 'read-records': 'in', 'write-records': 'out', 'read-bytes': 'bytes', 'busy-time': 'busy' }

/** valueOf is a number of a subtask; 0 if an archive of Flink does not have it. */
export const valueOf = (of: Measure, io: Io) => (Number.isFinite(io[read[of]]) ? io[read[of]] : 0)

/** amount shows a number with its unit. */
export const amount = (of: Measure, n: number) => (of === 'read-bytes' ? bytes(n) : of === 'busy-time' ? duration(n) : count(n))

export interface Scale {
  most: number
  usual?: number // it is not known of an archive of Flink
  outlier: number // Infinity: it is not known
}

/** scaleOf compares the subtasks of a vertex. The spread is that of another moment, so a subtask may have more than its most. */
export function scaleOf(of: Measure, subtasks: Subtask[], spread?: Spread): Scale {
  const most = subtasks.reduce((n, s) => Math.max(n, valueOf(of, s.metrics)), 0)
  return { most, usual: spread?.usual, outlier: spread?.outlier ?? Infinity }
}

/** timesWord is the mark of an outlier: "6.1× the usual". */
export function timesWord(value: number, usual: number): string {
  if (usual <= 0) return 'the others have nothing'
  const times = value / usual
  return `${times < 100 ? times.toFixed(1) : count(times)}× the usual`
}

/** usualWord says what is usual. */
export const usualWord = (subtasks: number) => (subtasks > 3 ? 'the median' : 'the mean of the others')

/** mostSkewed are the vertices with an outlier, the worst one first. */
export function mostSkewed<V extends { id: string }>(vertices: V[], summaries: Map<string, Summary>): { v: V; skew: Skew }[] {
  const found = vertices.flatMap((v) => {
    const skew = summaries.get(v.id)?.skew
    return skew ? [{ v, skew }] : []
  })
  return found.sort((a, b) => b.skew.share - a.skew.share)
}

/** counterWord shows the value of a counter: all digits of a whole number, which may be larger than a float has, or Flink's text of another type. */
export const counterWord = (value: string) => (/^-?\d{1,19}$/.test(value) ? BigInt(value).toLocaleString('en') : value)
