import { beforeEach, describe, expect, it, vi } from 'vitest'

type Clock = typeof import('./master')
let clock: Clock
beforeEach(async () => {
  vi.resetModules()
  clock = await import('./master')
})

const header = (ms: number) => new Date(ms).toUTCString() // whole seconds, rounded down, as net/http has it
const minute = 60_000

describe('the clock of the master', () => {
  // A browser that is five minutes ahead showed each heartbeat as late, and one that is behind showed all as now.
  it('is that of the answers, however far the browser is off', () => {
    for (const off of [5 * minute, -5 * minute]) {
      const master = 1_700_000_000_400
      for (let t = 0; t < 30_000; t += 1900) clock.learn(header(master + t), master + t - 20 + off, master + t + 20 + off)
      const age = clock.ageOf(master + 30_000 - 2 * minute, master + 30_000 + off)
      expect(Math.abs(age - 2 * minute)).toBeLessThan(300)
      expect(Math.abs(clock.toBrowser(clock.toMaster(7)) - 7)).toBe(0)
    }
  })

  // The header has whole seconds: the age of a heartbeat would go up and down by one.
  it('is the browser’s as long as both may be the same', () => {
    for (let t = 0; t < 10_000; t += 330) clock.learn(header(1_700_000_000_000 + t), 1_700_000_000_000 + t - 5, 1_700_000_000_000 + t + 5)
    expect(clock.toMaster(1000)).toBe(1000)
  })

  it('has no time before another one', () => {
    clock.learn(header(1_700_000_000_999), 1_700_000_060_000, 1_700_000_060_010)
    expect(clock.ageOf(1_700_000_001_900, 1_700_000_060_010)).toBe(0)
    expect(clock.ageOf(5000, 4000)).toBe(0)
  })

  it('may be set, and an answer without a date tells nothing', () => {
    clock.learn(header(1_700_000_000_000), 1_700_000_000_000, 1_700_000_000_010)
    clock.learn(header(1_700_003_600_000), 1_700_000_001_000, 1_700_000_001_010)
    const set = clock.toMaster(0)
    expect(Math.abs(set - 60 * minute)).toBeLessThan(2000)
    for (const none of [null, '', 'yesterday']) clock.learn(none, 0, 0)
    expect(clock.toMaster(0)).toBe(set)
  })
})

it('ask learns of it', async () => {
  const { ask } = await import('./ask')
  vi.stubGlobal('localStorage', { getItem: () => null })
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('{}', { headers: { Date: header(Date.now() + 10 * minute) } })))
  await ask('overview', {}, (answer) => answer.text())
  vi.unstubAllGlobals()
  expect(Math.abs(clock.toMaster(0) - 10 * minute)).toBeLessThan(2000)
})
