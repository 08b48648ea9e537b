import { describe, expect, it } from 'vitest'
import type { JobState, TaskState } from '../../lib/api'
import type { Plan, Slow, Summary } from './api'
import { doing, doingWord, endsNow, mayHaveFailed, mayWait, sharesOf, shownOf } from './diagnosis'
import { keyOf, layOut, neighbour } from './layout'
import { foldFrames, parseFailure, placeShortly, userFrame } from './stack'
import { barsOf, ofTimes, rowsOf, subtaskWord, ticksOf, tickWord } from './timeline'

const plan: Plan = {
  nodes: [
    { id: 'a', parallelism: 4, description: 'read' },
    { id: 'b', parallelism: 4, description: 'count', inputs: [{ num: 0, id: 'a', ship_strategy: 'HASH', exchange: 'pipelined_bounded' }] },
    { id: 'c', parallelism: 1, description: 'commit', inputs: [{ num: 0, id: 'b', ship_strategy: 'FORWARD', exchange: 'pipelined_bounded' }, { num: 1, id: 'a', ship_strategy: 'HASH', exchange: '' }] },
  ],
}

describe('layout', () => {
  it('follows the flow, in both directions, and no cards overlap', () => {
    for (const down of [false, true]) {
      const l = layOut(plan, down)
      expect(l.places.map((p) => p.id)).toEqual(['a', 'b', 'c'])
      expect(l.edges).toHaveLength(3)
      for (const e of l.edges) expect(e.path).toMatch(/^M[\d.]+ [\d.]+C/)
      const [a, b] = l.places as [(typeof l.places)[0], (typeof l.places)[0]]
      expect(down ? b.y - a.y >= 150 : b.x - a.x >= 236).toBe(true)
    }
  })
  it('places 200 vertices, and an input that is not there harms nothing', () => {
    const nodes = Array.from({ length: 200 }, (_, i) => ({
      id: `v${i}`, parallelism: 10, description: 'map', inputs: [{ num: 0, id: i < 10 ? 'nowhere' : `v${i - 10}`, ship_strategy: 'HASH', exchange: '' }],
    }))
    const l = layOut({ nodes }, false)
    expect(l.places).toHaveLength(200)
    expect(l.edges).toHaveLength(190)
    expect(l.places.every((p) => Number.isFinite(p.x) && Number.isFinite(p.y))).toBe(true)
  })
  it('has the same key while the plan is the same', () => {
    expect(keyOf(plan)).toBe(keyOf(structuredClone(plan)))
    expect(keyOf(plan)).not.toBe(keyOf({ nodes: plan.nodes.slice(1) }))
  })
  it('leads the keyboard to the nearest card', () => {
    const places = [{ id: 'a', x: 0, y: 0 }, { id: 'b', x: 300, y: 0 }, { id: 'c', x: 300, y: 200 }]
    expect(neighbour(places, 'a', 'ArrowRight')).toBe('b')
    expect(neighbour(places, 'b', 'ArrowDown')).toBe('c')
    expect(neighbour(places, 'c', 'ArrowLeft')).toBe('a')
    expect(neighbour(places, 'a', 'ArrowUp')).toBeUndefined()
    expect(neighbour(places, 'a', 'Enter')).toBeUndefined()
  })
})

const panic = `panic: runtime error: index out of range [85] with length 9
not restarted: its 2 restarts are used up
main.parseAmount
\texample.org/clicks/main.go:58
main.init.func1.1.1
\texample.org/clicks/main.go:29 +0x1d
github.com/bobbin-yarn/bobbin/dataflow.task.feed
\tgithub.com/bobbin-yarn/bobbin/dataflow/chain.go:89`

describe('failures', () => {
  it('show the message, and where the program failed', () => {
    const f = parseFailure(panic)
    expect(f.message).toBe('panic: runtime error: index out of range [85] with length 9')
    expect(f.more).toBe('not restarted: its 2 restarts are used up')
    expect(userFrame(f)).toEqual({ call: 'main.parseAmount', place: 'example.org/clicks/main.go:58', user: true })
    expect(placeShortly(f.frames[1]!.place)).toBe('main.go:29')
    expect(parseFailure('panic: x\nstrconv.Atoi(...)\n\t/go/src/strconv/atoi.go:9\nexample.org/clicks/parse.Line(0x1)\n\t/src/parse/line.go:7 +0x1d').frames.map((one) => one.user)).toEqual([false, true])
    expect(foldFrames(f.frames).map((g) => [g.user, g.frames.length])).toEqual([[true, 2], [false, 1]])
  })
  it('without a stack are only words', () => {
    const f = parseFailure('worker is lost: container_1 exited with 137')
    expect(f).toEqual({ message: 'worker is lost: container_1 exited with 137', more: '', frames: [] })
    expect(userFrame(f)).toBeUndefined()
    expect(parseFailure('').message).toBe('')
  })
  it('of Flink are read, too', () => {
    const f = parseFailure('java.lang.IllegalStateException: no\n\tat org.apache.flink.runtime.Task.run(Task.java:1)\n\tat com.example.My.map(My.java:7)')
    expect(f.message).toBe('java.lang.IllegalStateException: no')
    expect(userFrame(f)?.call).toBe('com.example.My.map')
  })
})

const summary = (id: string, busy: number, pressed: number, most: number, over: Partial<Summary> = {}): [string, Summary] => [
  id,
  { id, 'earlier-attempts': 0, activity: { tasks: 4, busy, idle: 1 - busy - pressed, 'back-pressured': pressed, 'most-busy': { subtask: 2, share: most }, 'most-back-pressured': { subtask: 1, share: pressed } }, ...over },
]

describe('what tasks do', () => {
  it('is said in a word', () => {
    const io = { 'accumulated-busy-time': 100, 'accumulated-idle-time': 300, 'accumulated-backpressured-time': 0 } as never
    expect(doingWord(sharesOf(io)!)).toBe('was idle 75 %')
    expect(doingWord(sharesOf(io, summary('a', 0.6, 0.1, 1)[1])!)).toBe('busy 60 %')
    expect(doing(sharesOf(io, summary('a', 0.3, 0.4, 1)[1])!)).toBe('pressed')
    expect(sharesOf({ 'accumulated-busy-time': 0, 'accumulated-idle-time': 0, 'accumulated-backpressured-time': 0 } as never)).toBeUndefined()
  })
})

describe('time line', () => {
  const states: TaskState[] = ['CREATED', 'SCHEDULED', 'DEPLOYING', 'RUNNING', 'FINISHED', 'CANCELING', 'CANCELED', 'FAILED']
  const attempt = (status: TaskState, ...entered: number[]) => ({ subtask: 0, attempt: 0, status, worker: 0, entered })
  it('has a bar for each state, which lasts until the next', () => {
    expect(barsOf(attempt('RUNNING', 10, 20, 30, 40, 0, 0, 0, 0), states, 100)).toEqual([
      { state: 'CREATED', from: 10, to: 20 }, { state: 'SCHEDULED', from: 20, to: 30 }, { state: 'DEPLOYING', from: 30, to: 40 }, { state: 'RUNNING', from: 40, to: 100 },
    ])
    expect(barsOf(attempt('FAILED', 10, 20, 30, 0, 0, 0, 0, 90), states, 100).at(-1)).toEqual({ state: 'DEPLOYING', from: 30, to: 90 })
    expect(barsOf(attempt('CANCELED', 10, 20, 30, 40, 0, 60, 70, 0), states, 100).at(-1)).toEqual({ state: 'CANCELING', from: 60, to: 70 })
  })
  it('has a row for each vertex and attempt', () => {
    const rows = rowsOf({ now: 100, states, workers: [], omitted: 0, vertices: [{ id: 'a', name: 'read', attempts: [attempt('RUNNING', 10, 0, 0, 20, 0, 0, 0, 0)] }, { id: 'b', name: 'none', attempts: [] }] }, 100)
    expect(rows.map((r) => r.kind)).toEqual(['vertex', 'attempt', 'vertex'])
    expect(rows[0]).toMatchObject({ from: 10, to: 100, attempts: 1, omitted: 0 })
  })
  it('says which attempts are left out, and counts subtasks from 1', () => {
    const t = { now: 100, states, workers: [], omitted: 7, vertices: [{ id: 'a', name: 'read', omitted: 7, attempts: [attempt('RUNNING', 10)] }] }
    const [vertex, row] = rowsOf(t, 100, new Map([['a', 8]]))
    expect(vertex).toMatchObject({ omitted: 7 })
    expect(row?.kind === 'attempt' && subtaskWord(row.attempt.subtask, row.subtasks)).toBe('1 of 8')
    expect(subtaskWord(3, 0)).toBe('4')
  })
  it('is made of what an archive of Flink has', () => {
    const t = ofTimes([{ id: 'a', name: 'read', now: 50, subtasks: [{ subtask: 0, host: 'n1', timestamps: { CREATED: 1, RUNNING: 5, FINISHED: 9, SCHEDULED: -1 } as never }] }])
    expect(t.vertices[0]!.attempts[0]!.status).toBe('FINISHED')
    expect(barsOf(t.vertices[0]!.attempts[0]!, t.states, 50)).toEqual([{ state: 'CREATED', from: 1, to: 5 }, { state: 'RUNNING', from: 5, to: 9 }])
  })
  it('has round ticks with short words', () => {
    expect(ticksOf(95_000, 7).map(tickWord)).toEqual(['0', '+15 s', '+30 s', '+45 s', '+1 min', '+1 min 15 s', '+1 min 30 s'])
    expect(ticksOf(0, 7)).toEqual([0])
    expect(ticksOf(40 * 86_400_000, 5).length).toBeLessThanOrEqual(6)
    expect([1500, 250, 3_600_000, 90_000_000].map(tickWord)).toEqual(['+1.5 s', '+250 ms', '+1 h', '+1 d 1 h'])
  })
})

describe('a job', () => {
  // A restart had no cause where the master did not say whether tasks have failed.
  it('may have failed as its master says, and in case of doubt', () => {
    expect(mayHaveFailed('RUNNING', true, { troubled: false })).toBe(false)
    expect(mayHaveFailed('RUNNING', true, { troubled: true })).toBe(true)
    expect(mayHaveFailed('RUNNING', true, { restarts: 1 })).toBe(true) // an earlier release
    expect(mayHaveFailed('RUNNING', true)).toBe(true) // an archive of Flink
    expect([mayHaveFailed('RUNNING', false), mayHaveFailed('RESTARTING', false), mayHaveFailed('FAILED', false)]).toEqual([false, true, true])
  })
  // The vertices are asked for at another time than the job: a job that had failed was without a reason.
  it('may have failed as its state says, whatever was told before', () => {
    for (const state of ['FAILED', 'FAILING', 'RESTARTING'] as const) expect(mayHaveFailed(state, true, { troubled: false })).toBe(true)
  })
  it('is slow only while it runs, and does nothing now in an archive', () => {
    const told = { now: 1, slow: { vertex: 'a' } as Slow, vertices: [{ ...summary('a', 0.8, 0, 1)[1], rates: {} as never, skew: { subtask: 1 } as never }] }
    expect(shownOf('RUNNING', false, told)).toMatchObject({ slow: { vertex: 'a' }, summaries: new Map([['a', told.vertices[0]!]]) })
    for (const state of ['FAILED', 'FINISHED', 'CANCELLING'] as const) expect(shownOf(state, false, told).slow).toBeUndefined()
    const past = shownOf('RUNNING', true, told)
    expect(past.slow).toBeUndefined()
    expect(past.summaries.get('a')).toEqual({ id: 'a', 'earlier-attempts': 0, skew: { subtask: 1 } })
    expect(shownOf('RUNNING', false).summaries.size).toBe(0)
  })
  it('ends now if the page saw it go on, or if it ended a moment ago', () => {
    const job = (state: JobState, ago: number) => ({ state, now: 1_000_000, 'end-time': 1_000_000 - ago })
    expect([endsNow(job('RUNNING', 1_000_001), true), endsNow(job('FAILED', 60_000), true), endsNow(job('FAILED', 60_000), false), endsNow(job('FINISHED', 500), false)])
      .toEqual([false, true, false, true])
  })
  it('may wait until all of its tasks have begun, and again when some restart', () => {
    const job = (state: string, ...tasks: TaskState[]) => ({
      state, vertices: tasks.map((t) => ({ tasks: { CREATED: 0, SCHEDULED: 0, DEPLOYING: 0, RUNNING: 0, FINISHED: 0, [t]: 1 } })),
    }) as never
    expect(mayWait(job('INITIALIZING'))).toBe(true)
    expect(mayWait(job('RUNNING', 'RUNNING', 'CREATED'))).toBe(true)
    expect(mayWait(job('RUNNING', 'SCHEDULED'))).toBe(true)
    expect(mayWait(job('RUNNING', 'FINISHED', 'DEPLOYING'))).toBe(true)
    expect(mayWait(job('RESTARTING', 'RUNNING'))).toBe(true)
    expect(mayWait(job('RUNNING', 'RUNNING', 'FINISHED'))).toBe(false)
    expect(mayWait(job('FAILED', 'CREATED'))).toBe(false)
  })
})
