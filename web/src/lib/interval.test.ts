import { expect, it } from 'vitest'
import type { Config } from './api'
import { intervalOf } from './interval'

// historyserver.web.refresh-interval had no effect: the page asked a history server at fixed times.
it('asks a history server as often as its option says, and a master as often as the part wants', () => {
  const config = (interval: number, history: boolean): Config => ({ 'refresh-interval': interval, 'flink-version': '1', 'flink-revision': '', features: { 'web-history': history } })
  expect(intervalOf(config(60_000, true), 2000)).toBe(60_000)
  expect(intervalOf(config(365 * 86_400_000, true), 2000)).toBeLessThan(2 ** 31)
  expect(intervalOf(config(60_000, false), 2000)).toBe(2000)
  expect(intervalOf(undefined, 3000)).toBe(3000)
})
