// Polling of REST paths, without the parts that show the answers. Readers of the same path share one request.
import { ask, Failure, parsed } from './ask'
import { pause } from './pause'

export interface Polled<T> {
  /** The newest answer. It is kept while later requests fail. */
  data?: T
  /** Why the last request failed; undefined after one that succeeded. */
  error?: Failure
  /** No answer and no failure yet. */
  loading: boolean
  /** When the shown data was answered, if a later request failed: ms since 1970. */
  staleSince?: number
  /** When the first question failed since the last answer: ms since 1970. */
  failedSince?: number
  /** Since when YARN's proxy has led elsewhere, without a break: ms since 1970. */
  awaySince?: number
  /** The path is not there (any more): 404 or 410. */
  gone: boolean
  /** When the newest answer arrived: ms since 1970. */
  at?: number
}

/** first is the state before the first answer. */
export const first: Polled<never> = { loading: true, gone: false }

class Poller {
  state: Polled<unknown> = first
  private readonly readers = new Map<() => void, number>() // with the interval that each asks for, in ms
  private timer?: ReturnType<typeof setTimeout>
  private asking?: AbortController
  private text?: string
  private begun = 0
  private took = 0 // the last answer, in ms
  private failures = 0 // since the last answer
  private again = false // somebody wants a new answer while a request runs
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  add(reader: () => void, everyMs: number) {
    this.readers.set(reader, everyMs)
    this.plan()
  }

  remove(reader: () => void) {
    this.readers.delete(reader)
    clearTimeout(this.timer)
    this.plan()
    // A reader that changes its interval comes back at once. It must find the answers, and not ask in a loop.
    if (this.readers.size === 0) setTimeout(() => this.end())
  }

  private end() {
    if (this.readers.size > 0) return
    this.asking?.abort()
    pollers.delete(this.path)
  }

  /** plan sets the timer of the next request. It pauses while the tab is hidden. */
  plan() {
    clearTimeout(this.timer)
    if (this.asking || document.hidden || this.readers.size === 0) return
    const wait = this.begun + pause(Math.min(...this.readers.values()), this.took, this.failures) - Date.now()
    this.timer = setTimeout(() => void this.ask(), Math.max(0, wait))
  }

  /** retry asks soon for what had no answer: another path has one again. */
  private retry() {
    if (this.failures === 0 || this.state.error?.status !== 0) return
    if (this.asking) {
      this.again = true // this question may have been too early
      return
    }
    this.begun = 0
    this.plan()
  }

  /** ask asks at once. Unless fresh is set, the answer may be the one that somebody else got a moment ago. */
  async ask(fresh = false) {
    clearTimeout(this.timer)
    if (this.asking) this.again ||= fresh
    if (this.asking || this.readers.size === 0) return
    const asking = new AbortController()
    this.asking = asking
    this.begun = Date.now()
    let next: Polled<unknown>
    let back = false
    try {
      next = await this.answer(asking.signal, fresh)
      back = this.failures > 0
      this.failures = 0
    } catch (e) {
      next = this.failed(e)
      this.failures++
    }
    this.took = Date.now() - this.begun
    this.asking = undefined
    if (this.readers.size === 0) return
    this.state = next
    for (const reader of [...this.readers.keys()]) reader()
    if (back) for (const other of pollers.values()) other.retry()
    if (!this.again) return this.plan()
    this.again = false
    await this.ask(true)
  }

  private async answer(signal: AbortSignal, fresh: boolean): Promise<Polled<unknown>> {
    const path = fresh ? this.path : `${this.path}${this.path.includes('?') ? '&' : '?'}maxAge=1000`
    const text = await ask(path, { signal }, (answer) => answer.text())
    const same = text === this.text && this.state.data !== undefined
    const data = same ? this.state.data : parsed(text)
    this.text = text
    return { data, loading: false, gone: false, at: Date.now() }
  }

  private failed(e: unknown): Polled<unknown> {
    const error = e instanceof Failure ? e : new Failure(0, String(e))
    const { data, at } = this.state
    const gone = error.status === 404 || error.status === 410
    return {
      data, at, error, loading: false, gone,
      staleSince: data === undefined ? undefined : at,
      failedSince: this.state.failedSince ?? this.begun,
      awaySince: error.away ? (this.state.awaySince ?? this.begun) : undefined,
    }
  }
}

/** pollers are those that have readers, by their paths. */
const pollers = new Map<string, Poller>()

document.addEventListener('visibilitychange', () => {
  for (const p of pollers.values()) p.plan()
})

/** refresh asks for all paths that are shown and begin so, for example after a job was cancelled. */
export function refresh(prefix = '') {
  for (const [path, p] of pollers) if (path.startsWith(prefix)) void p.ask(true)
}

/** The master has some answers from up to a second ago, and may be slow, in ms. */
const settled = 3000

/** refreshLast refreshes the paths of what does not change any more: at once, and again when no answer is from before. It returns what stops it. */
export function refreshLast(prefix: string): () => void {
  refresh(prefix)
  const last = setTimeout(() => refresh(prefix), settled)
  return () => clearTimeout(last)
}

/** read adds a reader to a path, and returns what removes it. */
export function read(path: string, reader: () => void, everyMs: number): () => void {
  let poller = pollers.get(path)
  if (!poller) pollers.set(path, (poller = new Poller(path)))
  const one = poller
  one.add(reader, everyMs)
  return () => one.remove(reader)
}

/** stateOf is what is known of a path. */
export const stateOf = (path: string): Polled<unknown> => pollers.get(path)?.state ?? first
