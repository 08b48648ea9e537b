import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

vi.stubGlobal('document', { hidden: false, addEventListener: () => {} })
const { read, refreshLast, stateOf } = await import('./poller')

type Answer = 'silent' | 'away' | object

/** master answers each path as the test says, and notes the questions. */
function master(answers: Record<string, Answer>) {
  const asked: string[] = []
  vi.stubGlobal('fetch', (address: string) => {
    const path = address.replace(/[?&]maxAge=.*/, '')
    asked.push(path)
    const answer = answers[path]
    if (answer === 'silent') return Promise.reject(new TypeError('connection refused'))
    if (answer === 'away') return Promise.resolve({ type: 'opaqueredirect' })
    return Promise.resolve(Response.json(answer))
  })
  return { asked, answers }
}

describe('a poller', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('keeps the last answer, and knows since when it fails, and since when YARN’s proxy leads elsewhere', async () => {
    const m = master({ overview: { slots: 4 } })
    const end = read('overview', () => {}, 2000)
    await vi.advanceTimersByTimeAsync(0)
    expect(stateOf('overview')).toMatchObject({ data: { slots: 4 }, at: 1_000_000 })
    expect(stateOf('overview').failedSince).toBeUndefined()
    m.answers['overview'] = 'silent'
    await vi.advanceTimersByTimeAsync(10_000)
    expect(stateOf('overview')).toMatchObject({ data: { slots: 4 }, staleSince: 1_000_000, failedSince: 1_002_000 })
    m.answers['overview'] = 'away'
    await vi.advanceTimersByTimeAsync(2000)
    expect(stateOf('overview')).toMatchObject({ failedSince: 1_002_000, awaySince: 1_012_000 })
    m.answers['overview'] = 'silent' // the next master dies, too: the proxy has had an address
    await vi.advanceTimersByTimeAsync(2000)
    expect(stateOf('overview').awaySince).toBeUndefined()
    m.answers['overview'] = { slots: 8 }
    await vi.advanceTimersByTimeAsync(2000)
    expect(stateOf('overview')).toEqual({ data: { slots: 8 }, at: 1_016_000, loading: false, gone: false })
    end()
    await vi.advanceTimersByTimeAsync(0)
  })

  // Parts that ask rarely would show old numbers for a minute after the next master has answered the others.
  it('asks at once for all that had no answer when the master is back', async () => {
    const m = master({ overview: 'silent', config: 'silent' })
    const ends = [read('overview', () => {}, 2000), read('config', () => {}, 60_000)]
    await vi.advanceTimersByTimeAsync(65_000)
    m.answers['overview'] = {}
    m.answers['config'] = { features: {} }
    m.asked.length = 0
    await vi.advanceTimersByTimeAsync(2000)
    expect(m.asked).toContain('config')
    expect(stateOf('config').error).toBeUndefined()
    ends.forEach((end) => end())
    await vi.advanceTimersByTimeAsync(0)
  })

  // For up to a minute a failed job had no reason, a finished one had running subtasks, and its counters were those of before the end.
  it('asks once more, and again some seconds later, for what does not change any more', async () => {
    const m = master({ 'jobs/a': {}, 'jobs/a/vertices': {}, 'jobs/b': {} })
    const ends = ['jobs/a', 'jobs/a/vertices', 'jobs/b'].map((path) => read(path, () => {}, 60_000))
    await vi.advanceTimersByTimeAsync(5000)
    m.asked.length = 0
    const stop = refreshLast('jobs/a')
    await vi.advanceTimersByTimeAsync(0)
    expect(m.asked).toEqual(['jobs/a', 'jobs/a/vertices'])
    m.answers['jobs/a/exceptions'] = {} // a part that is shown from the end on
    ends.push(read('jobs/a/exceptions', () => {}, 60_000))
    await vi.advanceTimersByTimeAsync(0)
    m.asked.length = 0
    await vi.advanceTimersByTimeAsync(4000)
    expect(m.asked).toEqual(['jobs/a', 'jobs/a/vertices', 'jobs/a/exceptions'])
    stop()
    refreshLast('jobs/b')() // its page is left
    await vi.advanceTimersByTimeAsync(0)
    m.asked.length = 0
    await vi.advanceTimersByTimeAsync(4000)
    expect(m.asked).toEqual([])
    ends.forEach((end) => end())
    await vi.advanceTimersByTimeAsync(0)
  })

  // The time that a question took counted from 1970 if another path had an answer meanwhile: there was no further question.
  it('goes on if another path is answered while it asks', async () => {
    const m = master({ overview: 'silent', config: 'silent' })
    const ends = [read('overview', () => {}, 2000), read('config', () => {}, 2000)]
    await vi.advanceTimersByTimeAsync(1000)
    vi.stubGlobal('fetch', (address: string) => {
      m.asked.push(address)
      const answer = Response.json({})
      return address.startsWith('config') ? Promise.resolve(answer) : new Promise((resolve) => setTimeout(() => resolve(answer), 500))
    })
    await vi.advanceTimersByTimeAsync(2000)
    m.asked.length = 0
    await vi.advanceTimersByTimeAsync(20_000)
    expect(m.asked.filter((p) => p.startsWith('overview')).length).toBeGreaterThan(5)
    ends.forEach((end) => end())
    await vi.advanceTimersByTimeAsync(1000)
  })

  // A path that the master refuses would be asked for each time that another path has an answer again.
  it('gives a path that was refused its own time', async () => {
    const m = master({ overview: {} })
    let n = 0
    vi.stubGlobal('fetch', (address: string) => {
      const path = address.replace(/[?&]maxAge=.*/, '')
      m.asked.push(path)
      if (path === 'drivers') return Promise.resolve(Response.json({ errors: ['you may not'] }, { status: 403 }))
      return n++ % 2 === 0 ? Promise.reject(new TypeError('connection refused')) : Promise.resolve(Response.json({}))
    })
    const ends = [read('overview', () => {}, 2000), read('drivers', () => {}, 60_000)]
    await vi.advanceTimersByTimeAsync(60_000)
    expect(m.asked.filter((p) => p === 'overview').length).toBeGreaterThan(25)
    expect(m.asked.filter((p) => p === 'drivers').length).toBeLessThan(8)
    ends.forEach((end) => end())
    await vi.advanceTimersByTimeAsync(0)
  })
})
