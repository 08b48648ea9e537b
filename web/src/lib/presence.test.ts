import { describe, expect, it } from 'vitest'
import { presenceOf, yarnPath } from './presence'

const minute = 60_000

describe('presenceOf', () => {
  it('is here as long as the last question was answered', () => {
    expect(presenceOf({ now: 5000, until: 1000 })).toEqual({ kind: 'here' })
  })

  // YARN's proxy redirects from the end of one master until the next one has registered: the page called that the end.
  it('takes a redirect for the replacement of the master, and for the end only if YARN says so', () => {
    const away = { now: 2 * minute, failedSince: 0, status: 0, awaySince: 0 }
    expect(presenceOf(away)).toEqual({ kind: 'away', since: 0, known: false })
    expect(presenceOf({ ...away, yarn: { state: 'ACCEPTED', finalStatus: 'UNDEFINED' } })).toEqual({ kind: 'away', since: 0, known: true })
    expect(presenceOf({ ...away, yarn: { state: 'FINISHED', finalStatus: 'SUCCEEDED' } })).toEqual({ kind: 'ended', final: 'SUCCEEDED' })
  })

  it('guesses the end after many minutes without a word of YARN, counted from the first redirect', () => {
    expect(presenceOf({ now: 20 * minute, failedSince: 0, status: 0, awaySince: 0 }).kind).toBe('probably ended')
    expect(presenceOf({ now: 20 * minute, failedSince: 0, status: 0, awaySince: 19 * minute }).kind).toBe('away')
    expect(presenceOf({ now: 20 * minute, failedSince: 0, status: 0, awaySince: 0, yarn: { state: 'ACCEPTED', finalStatus: 'UNDEFINED' } }).kind).toBe('away')
  })

  // A page that `bobbin open` opened asked a dead master's port for ever, and said nothing about the way to the next one.
  it('tells a browser with a cookie that another master has another address', () => {
    const silent = { failedSince: 10_000, status: 0, until: 720 * minute }
    expect(presenceOf({ ...silent, now: 39_999 })).toEqual({ kind: 'silent', since: 10_000 })
    expect(presenceOf({ ...silent, now: 40_000 })).toEqual({ kind: 'lost', since: 10_000 })
    expect(presenceOf({ ...silent, until: -1, now: 40_000 }).kind).toBe('silent')
  })

  it('knows the end of the access of a browser, also if the cookie was replaced before', () => {
    expect(presenceOf({ now: 2 * minute, failedSince: minute + 5, status: 401, until: minute })).toEqual({ kind: 'shut', at: minute })
    expect(presenceOf({ now: 2 * minute, failedSince: minute, status: 401, until: 9 * minute })).toEqual({ kind: 'shut', at: minute })
    expect(presenceOf({ now: 2 * minute, failedSince: minute, status: 0, until: minute })).toEqual({ kind: 'shut', at: minute })
    expect(presenceOf({ now: 2 * minute, failedSince: minute, status: 503, until: 9 * minute }).kind).toBe('lost')
  })
})

it('yarnPath stays below the prefix of a gateway', () => {
  expect(yarnPath('/proxy/application_1700000000000_0001/')).toBe('../../ws/v1/cluster/apps/application_1700000000000_0001')
  expect(yarnPath('/')).toBeUndefined()
  expect(yarnPath('/gateway/default/yarn/proxy/application_1700000000000_0001/')).toBe('../../ws/v1/cluster/apps/application_1700000000000_0001')
})
