import { describe, expect, it } from 'vitest'
import { startOf } from './steps'

const step = (name: string, begin: number, end: number | null) => ({ name, begin, end, detail: '' })

describe('startOf', () => {
  it('finds where the time went', () => {
    const start = startOf([step('queue', 1000, 2000), step('worker', 2000, 9000), step('tasks', 9000, 11_000)], 50_000)
    expect(start.whole).toBe(10_000)
    expect(start.longest?.name).toBe('worker')
    expect(start.bars.map((b) => [b.from, b.size])).toEqual([[0, 0.1], [0.1, 0.7], [0.8, 0.2]])
    expect(start.going).toBe(false)
  })

  it('lets a step that goes on grow until now', () => {
    const start = startOf([step('queue', 1000, null)], 5000)
    expect(start).toMatchObject({ whole: 4000, going: true, longest: { name: 'queue', length: 4000 } })
  })

  it('leaves out the hour that a session waited for its first job', () => {
    const start = startOf([step('queue', 1000, 2000), step('job', 3_602_000, 3_605_000)], 0)
    expect(start.whole).toBe(4000)
    expect(start.bars.map((b) => [b.pause, b.from, b.size])).toEqual([[0, 0, 0.25], [3_600_000, 0.25, 0.75]])
  })

  it('survives clocks of other machines that are behind, unknown begins, and no step at all', () => {
    expect(startOf([step('queue', -1, null), step('worker', 2000, 1500)], 5000).bars).toMatchObject([{ name: 'worker', length: 0 }])
    expect(startOf([], 5000)).toMatchObject({ bars: [], going: false })
  })
})
