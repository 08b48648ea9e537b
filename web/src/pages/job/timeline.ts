// The rows and the axis of a time line.
import type { TaskState } from '../../lib/api'
import type { Attempt, SubtaskTimes, Timeline } from './api'

export interface Bar {
  state: TaskState
  from: number // ms since 1970
  to: number
}

export type Row =
  | { kind: 'vertex'; id: string; name: string; from: number; to: number; attempts: number; omitted: number }
  | { kind: 'attempt'; vertex: string; subtasks: number; attempt: Attempt; bars: Bar[] } // subtasks: of the vertex; 0: not known

const over = new Set<TaskState>(['FINISHED', 'CANCELED', 'FAILED'])

/** barsOf returns for how long an attempt was in each of its states. The last state of an attempt that has ended has no bar. */
export function barsOf(a: Attempt, states: TaskState[], now: number): Bar[] {
  const entered = states.map((state, i) => ({ state, at: a.entered[i] ?? 0 })).filter((e) => e.at > 0)
  entered.sort((x, y) => x.at - y.at || states.indexOf(x.state) - states.indexOf(y.state))
  return entered.flatMap(({ state, at }, i) => {
    if (over.has(state)) return []
    const to = entered[i + 1]?.at ?? (over.has(a.status) ? at : now)
    return [{ state, from: at, to: Math.max(at, to) }]
  })
}

/** rowsOf returns a row for each vertex and for each attempt. parallelism has the subtasks of each vertex, by its id. */
export function rowsOf(t: Timeline, now: number, parallelism = new Map<string, number>()): Row[] {
  return t.vertices.flatMap((v) => {
    const subtasks = parallelism.get(v.id) ?? 0
    const rows = v.attempts.map((attempt) => ({ kind: 'attempt' as const, vertex: v.name, subtasks, attempt, bars: barsOf(attempt, t.states, now) }))
    let from = Infinity
    let to = 0
    for (const r of rows) {
      for (const b of r.bars) {
        from = Math.min(from, b.from)
        to = Math.max(to, b.to)
      }
    }
    return [{ kind: 'vertex' as const, id: v.id, name: v.name, from, to, attempts: rows.length, omitted: v.omitted ?? 0 }, ...rows]
  })
}

/** ofTimes makes a time line of the answers that an archive of Flink has. They tell of the newest attempts only. */
export function ofTimes(all: SubtaskTimes[]): Timeline {
  const states: TaskState[] = ['CREATED', 'SCHEDULED', 'DEPLOYING', 'INITIALIZING', 'RUNNING', 'FINISHED', 'CANCELING', 'CANCELED', 'FAILED']
  const workers: Timeline['workers'] = []
  const indexes = new Map<string, number>()
  const vertices = all.map((v) => ({
    id: v.id,
    name: v.name,
    attempts: v.subtasks.map((s) => {
      let worker = indexes.get(s.host)
      if (worker === undefined) indexes.set(s.host, (worker = workers.push({ id: '', host: s.host }) - 1))
      const entered = states.map((state) => Math.max(0, s.timestamps[state] ?? 0))
      const status = states.findLast((_, i) => entered[i]! > 0) ?? 'CREATED'
      return { subtask: s.subtask, attempt: 0, status, worker, entered }
    }),
  }))
  return { now: Math.max(0, ...all.map((v) => v.now)), states, workers, vertices, omitted: 0 }
}

/** subtaskWord is a subtask as people count: "2 of 4". */
export const subtaskWord = (subtask: number, subtasks: number) => (subtasks > 0 ? `${subtask + 1} of ${subtasks}` : `${subtask + 1}`)

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
  1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000]

/** ticksOf returns round times since the begin, at most some `most` of them, in ms. */
export function ticksOf(span: number, most: number): number[] {
  const rough = span / Math.max(1, most)
  const step = steps.find((s) => s >= rough) ?? Math.ceil(rough / 86_400_000) * 86_400_000
  const ticks: number[] = []
  for (let t = 0; t <= span; t += step) ticks.push(t)
  return ticks
}

/** tickWord shows a time since the begin: "+0", "+1.5 s", "+2 min 30 s". Without rounding, because ticks are round. */
export function tickWord(ms: number): string {
  if (ms === 0) return '0'
  if (ms < 1000) return `+${ms} ms`
  if (ms < 60_000) return `+${ms / 1000} s`
  const parts: [number, string][] = [[Math.floor(ms / 86_400_000), 'd'], [Math.floor(ms / 3_600_000) % 24, 'h'], [Math.floor(ms / 60_000) % 60, 'min'], [Math.floor(ms / 1000) % 60, 's']]
  return `+${parts.filter(([n]) => n > 0).map(([n, unit]) => `${n} ${unit}`).join(' ')}`
}
