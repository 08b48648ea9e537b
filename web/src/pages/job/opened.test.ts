import { describe, expect, it } from 'vitest'
import type { Slow, Summary, Vertex } from './api'
import { mostSkewed } from './measures'
import { vertexToOpen } from './opened'

describe('the vertex that a tab opens with', () => {
  const vertex = (id: string, busy: number, parallelism: number) => ({ id, parallelism, metrics: { 'accumulated-busy-time': busy } }) as unknown as Vertex
  const vertices = [vertex('a', 900, 10), vertex('b', 200, 1), vertex('c', 0, 2)]
  const skewed = (...shares: [string, number][]) => new Map(shares.map(([id, share]) => [id, { id, skew: { share } } as unknown as Summary]))
  const slow = (id: string, alone: boolean) => ({ vertex: id, alone }) as Slow
  it('is the slow one if it has skew, then the one with the most skew, then the slow one', () => {
    expect(vertexToOpen(vertices, skewed(['a', 0.9]), slow('c', true))).toBe('c')
    expect(vertexToOpen(vertices, skewed(['a', 0.9], ['c', 0.5]), slow('c', false))).toBe('c')
    expect(vertexToOpen(vertices, skewed(['a', 0.5], ['b', 0.9]), slow('c', false))).toBe('b')
    expect(vertexToOpen(vertices, new Map(), slow('c', false))).toBe('c')
    expect(mostSkewed(vertices, skewed(['a', 0.5], ['gone', 1], ['b', 0.9])).map(({ v }) => v.id)).toEqual(['b', 'a'])
  })
  it('is the one whose subtasks have worked most if the master says nothing', () => {
    expect(vertexToOpen(vertices, new Map())).toBe('b')
    expect(vertexToOpen(vertices, new Map(), slow('gone', true))).toBe('b')
    expect(vertexToOpen([vertex('x', NaN, 1)], new Map())).toBe('x')
    expect(vertexToOpen([], new Map())).toBeUndefined()
  })
})
