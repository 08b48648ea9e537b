import { describe, expect, it } from 'vitest'
import { bytes, clock, count, duration, percent, plural, rate } from './format'

describe('format', () => {
  it('gives each number its unit', () => {
    expect([0, 1023, 1536, 150 * 1024 ** 2, 3 * 1024 ** 4].map(bytes)).toEqual(['0 B', '1023 B', '1.5 KB', '150 MB', '3.0 TB'])
    expect([0, 999, 9999, 12_345, 1_200_000].map(count)).toEqual(['0', '999', '9,999', '12.3 k', '1.2 M'])
    expect([rate(0.25), rate(1024 ** 2, 'B'), rate(3400, 'records')]).toEqual(['0.3/s', '1.0 MB/s', '3,400 records/s'])
    expect([0, 0.042, 0.5, 1].map(percent)).toEqual(['0 %', '4.2 %', '50 %', '100 %'])
    expect([plural(1, 'slot'), plural(0, 'slot'), plural(2, 'entry', 'entries')]).toEqual(['1 slot', '0 slots', '2 entries'])
  })

  it('shows what is unknown as unknown, not as 0', () => {
    for (const f of [bytes, count, rate, duration, clock, percent]) {
      expect(f(undefined)).toBe('–')
      expect(f(NaN)).toBe('–')
    }
    expect(duration(-1)).toBe('–')
    expect(clock(-1)).toBe('–')
  })

  it('shortens long durations, and never rounds up to the next unit', () => {
    expect([999, 59_999, 200_000, 7_500_000, 273_600_000].map(duration)).toEqual(['999 ms', '59.9 s', '3 min 20 s', '2 h 5 min', '3 d 4 h'])
  })

  it('shows the day of another day', () => {
    const at = new Date(2026, 10, 28, 14, 3, 9).getTime()
    expect(clock(at, at + 1000)).toBe('14:03:09')
    expect(clock(at, at + 86_400_000)).toBe('28 Nov 14:03:09')
    expect(clock(at, at + 365 * 86_400_000)).toBe('28 Nov 2026 14:03:09')
  })
})
