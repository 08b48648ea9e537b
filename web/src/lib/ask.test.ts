import { afterEach, describe, expect, it, vi } from 'vitest'
import { post } from './api'
import { ask, Failure, reason } from './ask'

const text = (answer: Response) => answer.text()
const failure = async (question: Promise<unknown>) => question.then(() => expect.fail('it did not fail'), (e: unknown) => e as Failure)

describe('ask', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
  })

  // The page of YARN, or of the history server, is no answer: a log would show its text, and a table would break.
  it('does not follow YARN’s proxy elsewhere', async () => {
    const fetched = vi.fn((_: string, init: RequestInit) => Promise.resolve({ type: init.redirect === 'manual' ? 'opaqueredirect' : 'basic', ok: false }))
    vi.stubGlobal('fetch', fetched)
    expect(await failure(ask('stdout', {}, text))).toMatchObject({ status: 0, away: true })
  })

  // A master that is frozen would leave a dialog open for ever.
  it('waits no longer than its patience, also for the end of an answer', async () => {
    vi.stubGlobal('fetch', (_: string, init: RequestInit) => Promise.resolve({
      type: 'basic', ok: true, headers: new Headers(),
      text: () => new Promise((_resolve, reject) => init.signal!.addEventListener('abort', () => reject(init.signal!.reason as Error))),
    }))
    expect(await failure(ask('overview', { patience: 5 }, text))).toMatchObject({ status: 0, message: 'There was no answer in time.' })
    const changed = await failure(post('programs/1/run', {}, 5))
    expect(changed.message).toContain('may have been carried out')
  })

  // While a master is dead and YARN does not know it yet, the proxy answers 500; a 404 of the proxy would say that a job is gone.
  it('takes a page of YARN’s proxy for no answer of the master', async () => {
    for (const status of [404, 500, 502]) {
      vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>Connection refused</html>', { status })))
      expect(await failure(ask('jobs/overview', {}, text))).toMatchObject({ status: 0, away: false })
    }
  })

  it('stops when the part that asks is gone', async () => {
    const stop = new AbortController()
    vi.stubGlobal('fetch', (_: string, init: RequestInit) => new Promise((_resolve, reject) => init.signal!.addEventListener('abort', () => reject(init.signal!.reason as Error))))
    const asked = failure(ask('overview', { signal: stop.signal }, text))
    stop.abort()
    expect(await asked).toBeInstanceOf(Failure)
  })

  it('tells the whole reason of a refusal, and that a refused change was not made', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('{"errors":["the program failed:","panic: no input"]}', { status: 400 })))
    expect(await failure(post('programs/1/run', {}))).toMatchObject({ status: 400, message: 'the program failed:\npanic: no input' })
    expect(reason('<html>')).toBeUndefined()
    expect(reason('{"errors":[]}')).toBeUndefined()
  })
})
