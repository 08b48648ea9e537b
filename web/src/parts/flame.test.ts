import { describe, expect, it } from 'vitest'
import { percent } from '../lib/format'
import { at, found, kindOf, layout, move, shortName, type FlameNode } from './flame'

const leaf = (name: string, value: number, ...children: FlameNode[]): FlameNode => ({ name, value, children })
const root = leaf('root', 10, leaf('main.b', 2), leaf('main.a', 7, leaf('x/y.sort', 4, leaf('main.b', 1)), leaf('runtime.gopark', 3)))

describe('a flame graph', () => {
  it('draws each function below its caller, in its width', () => {
    expect(layout(root, 'root').map((f) => [f.name, f.level, percent(f.x), percent(f.width)])).toEqual([
      ['root', 0, '0 %', '100 %'], ['main.a', 1, '0 %', '70 %'], ['x/y.sort', 2, '0 %', '40 %'], ['main.b', 3, '0 %', '10 %'],
      ['runtime.gopark', 2, '40 %', '30 %'], ['main.b', 1, '70 %', '20 %'],
    ])
  })

  it('zooms to a function, and stays there in the next graph as far as it can', () => {
    const zoomed = layout(root, 'root\nmain.a\nx/y.sort')
    expect(zoomed.map((f) => [f.name, f.width])).toEqual([['root', 1], ['main.a', 1], ['x/y.sort', 1], ['main.b', 0.25]])
    expect(zoomed.map((f) => f.path)).toContain('root\nmain.a\nx/y.sort\nmain.b')
    expect(at(root, 'root\nmain.a\ngone\nmain.b').node.name).toBe('main.a')
  })

  it('leaves out what nobody can see', () => {
    expect(layout(root, 'root', 0.25).map((f) => f.name)).toEqual(['root', 'main.a', 'x/y.sort', 'runtime.gopark'])
    expect(layout(leaf('root', 0), 'root')).toHaveLength(1)
  })

  it('counts what a search finds once', () => {
    expect(found(root, 'MAIN.')).toBe(9)
    expect(found(root, 'main.b')).toBe(3)
    expect(found(root, '')).toBe(0)
  })

  it('is walked by keys', () => {
    const frames = layout(root, 'root')
    expect(move(frames, 'root', 'ArrowDown')).toBe('root\nmain.a')
    expect(move(frames, 'root\nmain.a', 'ArrowRight')).toBe('root\nmain.b')
    expect(move(frames, 'root\nmain.b', 'ArrowRight')).toBe('root\nmain.b')
    expect(move(frames, 'root\nmain.a\nx/y.sort', 'ArrowUp')).toBe('root\nmain.a')
    expect(move(frames, 'a path that is gone', 'ArrowUp')).toBe('root')
  })

  it('tells whose code it is', () => {
    expect(['main.work', 'github.com/a/b.F', 'github.com/bobbin-yarn/bobbin/dataflow.F', 'encoding/json.F', 'timer.F'].map(kindOf)).toEqual(['user', 'user', 'library', 'library', 'user'])
    expect(['runtime.gopark', 'runtime/pprof.Do', 'internal/runtime/syscall.Syscall6', 'sync/atomic.F', 'root', '(others)'].map(kindOf)).toEqual(['runtime', 'runtime', 'runtime', 'runtime', 'none', 'none'])
    expect(shortName('github.com/a/b.(*T).Run')).toBe('b.(*T).Run')
    expect(shortName('github.com/a/b.Map[github.com/c/d.E,[]uint8].func1')).toBe('b.Map[…].func1')
  })
})
