import { describe, expect, it, vi } from 'vitest'
import { rendered, textOf } from '../../parts/rendered'
import type { Slow, Summary, Vertex } from './api'
import { Card } from './Card'
import { shownOf } from './diagnosis'

vi.stubGlobal('document', { hidden: false, addEventListener: () => {} })
const { Edges } = await import('./Graph')

const vertex = (id: string, read: number, written: number, over: Partial<Vertex> = {}) => ({
  id, name: id, parallelism: 2, status: 'RUNNING', 'start-time': 1, tasks: { RUNNING: 2 },
  metrics: { 'read-records': read, 'read-bytes': 1024 * read, 'write-records': written, 'write-bytes': 1024 * written, 'accumulated-busy-time': 9, 'accumulated-idle-time': 1, 'accumulated-backpressured-time': 0 },
  ...over,
}) as unknown as Vertex

/** edges draws edges that are given as "a b", and returns the words of each. */
function edges(list: string[], vertices: Vertex[], going = true) {
  const drawn = list.map((e, num) => ({ from: e.split(' ')[0]!, to: e.split(' ')[1]!, num, strategy: 'HASH', path: 'M0 0', x: 0, y: 0 }))
  const all = rendered(Edges({ layout: { width: 1, height: 1, edges: drawn }, vertices: new Map(vertices.map((v) => [v.id, v])), going }))
  return {
    labels: all.filter((e) => e.type === 'g' && e.props['class'] === 'graph-label').map((e) => e.text),
    moving: all.filter((e) => String(e.props['class']).includes('graph-edge-runs')).length,
    titles: all.filter((e) => e.type === 'title').map((e) => e.text),
  }
}

describe('an edge', () => {
  it('has the records and bytes of its only output, or of its only input', () => {
    expect(edges(['a b'], [vertex('a', 0, 1200), vertex('b', 1100, 0)]).labels).toEqual(['by key1,200 rec · 1.2 MB in all'])
    // a has two outputs, and each of their targets one input
    expect(edges(['a b', 'a c'], [vertex('a', 0, 1200), vertex('b', 700, 0), vertex('c', 500, 0)]).labels).toEqual(['by key700 rec · 700 KB in all', 'by key500 rec · 500 KB in all'])
  })

  // It had no words: a reader could not know whether anything had gone over it.
  it('says that it is not counted apart from others', () => {
    const { labels, titles } = edges(['a b', 'a c', 'd c'], [vertex('a', 0, 9), vertex('b', 4, 0), vertex('c', 8, 0), vertex('d', 0, 3)])
    expect(labels).toEqual(['by key4 rec · 4.0 KB in all', expect.stringMatching(/^by key.*not counted apart$/), 'by key3 rec · 3.0 KB in all'])
    expect(titles).toHaveLength(1)
    expect(edges(['a b'], [vertex('a', 0, 0, { 'start-time': -1 }), vertex('b', 0, 0)]).labels).toEqual(['by key'])
  })

  it('moves only while the job goes on', () => {
    const both = [vertex('a', 0, 9), vertex('b', 9, 0)]
    expect([edges(['a b'], both, true).moving, edges(['a b'], both, false).moving]).toEqual([1, 0])
  })
})

// A job whose ApplicationMaster was lost for good looked as if it ran, days later.
it('a card of an archive without an end is quiet, and says what was', () => {
  const told = { now: 1, slow: { vertex: 'a', alone: true, busy: 0.9 } as Slow, vertices: [{ id: 'a', 'earlier-attempts': 0, activity: { busy: 0.9, idle: 0.1, 'back-pressured': 0 }, rates: { 'write-records': 7 } }] as unknown as Summary[] }
  const card = (history: boolean) => {
    const { summaries, slow } = shownOf('RUNNING', history, told)
    return Card({ job: 'j', vertex: vertex('a', 0, 9), summary: summaries.get('a'), slow, history, x: 0, y: 0, selected: false, onFocus: () => {} })
  }
  expect(textOf(card(false))).toContain('one subtask busy 90 %')
  expect(rendered(card(false)).at(-1)!.props['class']).toContain('card-busy')
  expect(textOf(card(true))).toContain('was busy 90 %')
  expect(rendered(card(true)).map((e) => e.props['class']).join(' ')).not.toMatch(/card-busy|card-run|tone-run/)
})

// Its card only said "created", like that of a vertex that waits for slots.
it('a vertex that waits says for how many tasks', () => {
  const waits = { tasks: 2, for: [{ vertex: 'r', tasks: 3 }], brief: 'waits for inputs of 3 tasks', words: '2 tasks wait for the output of 3 tasks of “read”' }
  const v = vertex('a', 0, 0, { 'start-time': -1, waits })
  expect(textOf(Card({ job: 'j', vertex: v, history: false, x: 0, y: 0, selected: false, onFocus: () => {} }))).toContain('waits for inputs of 3 tasks')
})
