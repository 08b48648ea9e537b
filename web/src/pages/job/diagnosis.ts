// The activity of a vertex's tasks, in words. The master says where a job is slow.
import type { Io, Job, Slow, Summaries, Summary } from './api'
import type { JobState } from '../../lib/api'
import { hasEnded } from '../../lib/api'
import { percent } from '../../lib/format'

export type Doing = 'busy' | 'pressed' | 'idle'

export interface Shares {
  busy: number
  pressed: number
  idle: number
  now: boolean // what the tasks do now; otherwise of their whole time
}

/** sharesOf says how the tasks of a vertex spend their time: now if they are measured, otherwise over all their time. */
export function sharesOf(io: Io, summary?: Summary): Shares | undefined {
  const a = summary?.activity
  if (a) return { busy: a.busy, pressed: a['back-pressured'], idle: a.idle, now: true }
  const busy = io['accumulated-busy-time']
  const pressed = io['accumulated-backpressured-time']
  const idle = io['accumulated-idle-time']
  const sum = busy + pressed + idle
  return sum > 0 ? { busy: busy / sum, pressed: pressed / sum, idle: idle / sum, now: false } : undefined
}

/** doing is what the tasks mostly do. Waiting for a slow consumer is told before idleness. */
export function doing(s: Shares): Doing {
  if (s.pressed >= 0.3 && s.pressed >= s.busy) return 'pressed'
  return s.busy >= s.idle ? 'busy' : 'idle'
}

const names: Record<Doing, string> = { busy: 'busy', pressed: 'back-pressured', idle: 'idle' }

/** doingWord says what the tasks mostly do: "busy 88 %", and "was busy 88 %" of tasks that do nothing now. */
export const doingWord = (s: Shares) => {
  const d = doing(s)
  return `${s.now ? '' : 'was '}${names[d]} ${percent(s[d])}`
}

/** stepsOf are the operators of a vertex. */
export const stepsOf = (name: string) => name.split(' -> ')

/** shortName is the name of a vertex, cut if it is long: chains have long names. */
export function shortName(name: string, most = 70): string {
  const whole = stepsOf(name).join(' → ')
  return whole.length <= most ? whole : `${whole.slice(0, most - 1).trimEnd()}…`
}

/**
 * mayHaveFailed says whether the exceptions of a job are worth a question, once it is known what the master says of its vertices. A
 * master of an earlier release, and an archive of Flink, do not say whether tasks have failed: then their root exception does. The
 * state comes first: what is told of the vertices may be from before the failure.
 */
export const mayHaveFailed = (state: JobState, settled: boolean, told?: Pick<Summaries, 'restarts' | 'troubled'>) =>
  state === 'FAILED' || state === 'FAILING' || state === 'RESTARTING' || (told?.troubled ?? settled)

/** A job has ended a moment ago if it is not longer than this, in ms. */
const moment = 10_000

/** endsNow says that a job has just ended: since its page saw it go on, or a moment ago. Its other parts may have answers from before. */
export const endsNow = (job: Pick<Job, 'state' | 'end-time' | 'now'>, seenGoing: boolean) =>
  hasEnded(job.state) && (seenGoing || job.now - job['end-time'] < moment)

/**
 * shownOf is what the page shows of the summaries. Where it is slow counts only while the job runs. An archive has no activity and no
 * rates of now: they are from when it was written.
 */
export function shownOf(state: JobState, history: boolean, told?: Summaries): { summaries: Map<string, Summary>; slow?: Slow } {
  const vertices = told?.vertices ?? []
  const past = ({ activity: _, rates: __, ...rest }: Summary): Summary => rest
  return {
    summaries: new Map(vertices.map((v) => [v.id, history ? past(v) : v])),
    slow: state === 'RUNNING' && !history ? told?.slow : undefined,
  }
}

/** mayWait says whether a job can wait for slots: not if all of its tasks have begun. Only then the page asks why it waits. */
export const mayWait = (job: Job) => !hasEnded(job.state)
  && (job.state !== 'RUNNING' || job.vertices.some(({ tasks }) => tasks.CREATED + tasks.SCHEDULED + tasks.DEPLOYING > 0))
