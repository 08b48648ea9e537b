import { describe, expect, it } from 'vitest'
import { questions } from './metrics'
import { pause } from './pause'

// YARN's proxy lets no longer question pass: the tab of metrics would show an error in place of all numbers.
describe('questions', () => {
  it('asks for all names, in pieces', () => {
    expect(questions(['a', 'b.c', 'd'], 5)).toEqual(['a,b.c', 'd'])
    expect(questions([])).toEqual([])
    const names = Array.from({ length: 60 }, (_, i) => `operator, with a long name.metric${i}`)
    const lists = questions(names)
    expect(lists.flatMap((l) => l.split(',').map(decodeURIComponent))).toEqual(names)
    expect(Math.max(...lists.map((l) => l.length))).toBeLessThanOrEqual(400)
  })
  it('asks for a name that is too long alone', () => expect(questions(['a', 'long name', 'b'], 4)).toEqual(['a', 'long%20name', 'b']))
})

// After one lost answer a page would show no button for a minute, and a slow master would get no rest.
it('a question comes soon after a failure, and gives a slow master a rest', () => {
  expect(pause(60_000, 20, 0)).toBe(60_000)
  expect([1, 2, 3, 9].map((failures) => pause(60_000, 20, failures))).toEqual([2000, 4000, 8000, 60_000])
  expect(pause(1000, 20, 1)).toBe(1000)
  expect(pause(2000, 3000, 0)).toBe(12_000)
  expect(pause(2000, 15_000, 1)).toBe(30_000)
})
