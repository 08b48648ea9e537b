import { expect, it } from 'vitest'
import type { Slots } from '../lib/api'
import { holdersOf } from './holders'

it('holdersOf leaves out the job that waits and those without slots, and begins with the largest', () => {
  const jobs = [['a', 1], ['b', 0], ['c', 3], ['d', 2]].map(([jid, slotsHeld]) => ({ jid, slotsHeld, slotsNeeded: 4, waitsSince: -1 }))
  expect(holdersOf({ jobs } as unknown as Slots, 'd').map((h) => h.jid)).toEqual(['c', 'a'])
  expect(holdersOf(undefined, 'd')).toEqual([])
})
