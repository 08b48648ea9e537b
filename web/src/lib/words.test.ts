import { describe, expect, it } from 'vitest'
import { clock } from './format'
import { localTimes, piecesOf, zone } from './words'

describe('words of the master', () => {
  const now = Date.UTC(2026, 10, 30, 8, 30, 0)
  // One time of the page was in UTC and all others in the zone of the browser, hours apart.
  it('have times in the zone of the reader, as all others', () => {
    expect(localTimes('requested: 1, since 03:12:47 UTC', now)).toBe(`requested: 1, since ${clock(Date.UTC(2026, 10, 30, 3, 12, 47), now)}`)
    expect(localTimes('since 23:12:47 UTC, and next at 08:31:00 UTC', now)).toBe(`since ${clock(Date.UTC(2026, 10, 29, 23, 12, 47), now)}, and next at ${clock(Date.UTC(2026, 10, 30, 8, 31, 0), now)}`)
    expect(localTimes('since 28 Nov 2026 23:12:47 UTC', now)).toBe(`since ${clock(Date.UTC(2026, 10, 28, 23, 12, 47), now)}`)
    expect(localTimes('until 00:10:00 UTC', Date.UTC(2026, 10, 29, 23, 59, 0))).toBe(`until ${clock(Date.UTC(2026, 10, 30, 0, 10, 0), Date.UTC(2026, 10, 29, 23, 59, 0))}`)
    expect(localTimes('no time at 3:4 in it', now)).toBe('no time at 3:4 in it')
    expect(zone(now)).not.toBe('')
  })
  it('name jobs where their ids stand', () => {
    const id = 'c0f95b0efb99b65ff3583c79346ae33e'
    expect(piecesOf(`cancel another job (${id} has 4 slots), or`)).toEqual(['cancel another job (', { job: id }, ' has 4 slots), or'])
    expect(piecesOf('no job')).toEqual(['no job'])
  })
})
