// The page of a link (appmaster/rest/open.html), which has its script inside.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import page from '../../appmaster/rest/open.html?raw'

const script = /<script>([^]*)<\/script>/.exec(page)![1]!

/** opened runs the script of the page, whose questions are answered in turns, and the last answer again. */
async function opened(...answers: ((init: RequestInit) => Promise<unknown>)[]) {
  const texts: Record<string, { textContent: string }> = { title: { textContent: 'Opening Bobbin…' }, text: { textContent: '' } }
  const kept = new Map<string, string>()
  const browsers: unknown[] = []
  const replaced: string[] = []
  vi.stubGlobal('document', { getElementById: (id: string) => texts[id] })
  vi.stubGlobal('history', { replaceState: () => {} })
  vi.stubGlobal('location', { hash: '#key', pathname: '/open', replace: (to: string) => replaced.push(to) })
  vi.stubGlobal('localStorage', { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => kept.set(name, value) })
  vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
    browsers.push((init.headers as Record<string, string>)['X-Bobbin-Browser'])
    return (answers.length > 1 ? answers.shift()! : answers[0]!)(init)
  })
  // The time limits of signals are none of the simulated timers.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const end = new AbortController()
    setTimeout(() => end.abort(), ms)
    return end.signal
  })
  new Function(script)()
  await vi.advanceTimersByTimeAsync(5 * 60_000)
  return { kept, replaced, browsers, title: texts['title']!.textContent }
}

const good = () => Promise.resolve(Response.json({ csrf: 'value' }))
const cut = () => Promise.resolve({ ok: true, status: 200, json: () => Promise.reject(new TypeError('the connection was reset')) })
const frozen = (init: RequestInit) => new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new Error('late'))))

describe('the page of a link', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
  })

  // The cookie had come, so the browser was told that the link has been used.
  it('asks again if the answer or its end is lost, as the same browser', async () => {
    for (const lost of [cut, () => Promise.reject(new TypeError('refused')), () => Promise.resolve(Response.json({ errors: ['wait'] }, { status: 503 }))]) {
      const { kept, replaced, browsers } = await opened(lost, good)
      expect(kept.get('bobbin-csrf')).toBe('value')
      expect(replaced).toEqual(['./'])
      expect(new Set(browsers).size).toBe(1)
      expect(browsers[0]).toMatch(/^[0-9a-f]{32}$/)
    }
  })

  // "Opening Bobbin…" stood there for ever.
  it('gives up on a master that is frozen', async () => {
    expect(await opened(frozen)).toMatchObject({ title: 'The link did not open', replaced: [] })
    expect(await opened(cut)).toMatchObject({ title: 'The link did not open', replaced: [] })
  })

  it('says why a link is refused, and does not ask again', async () => {
    const { title, browsers } = await opened(() => Promise.resolve(Response.json({ errors: ['this link has been used'] }, { status: 403 })))
    expect(title).toBe('The link does not open')
    expect(browsers).toHaveLength(1)
  })
})
