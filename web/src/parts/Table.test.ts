import { describe, expect, it } from 'vitest'
import { sortRows } from './Table'

describe('sortRows', () => {
  const rows = [{ n: 10, name: 'task 10' }, { n: 9, name: 'task 9' }, { n: 10, name: 'task 2' }]

  it('sorts numbers as numbers, also within names', () => {
    expect(sortRows(rows, (r) => r.n).map((r) => r.n)).toEqual([9, 10, 10])
    expect(sortRows(rows, (r) => r.name).map((r) => r.name)).toEqual(['task 2', 'task 9', 'task 10'])
  })

  it('keeps the order of equal rows in both directions', () => {
    expect(sortRows(rows, (r) => r.n, true).map((r) => r.name)).toEqual(['task 10', 'task 2', 'task 9'])
  })
})
