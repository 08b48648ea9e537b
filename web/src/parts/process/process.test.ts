import { describe, expect, it } from 'vitest'
import { group } from './goroutines'
import { all, append, levelOf, matches, noLog, split } from './logs'

describe('a log', () => {
  it('joins lines that come in two parts, and drops the oldest ones', () => {
    let log = append(append(noLog, 'one\ntw'), 'o\r\nthree')
    expect(all(log)).toEqual(['one', 'two', 'three'])
    log = append(log, ' more\n4444444444\n', 20)
    expect(all(log)).toEqual(['4444444444'])
    expect(log.cut).toBe(true)
    expect(append(log, '')).toBe(log)
    expect(append(noLog, 'x'.repeat(99), 10).rest).toHaveLength(10)
  })

  it('is searched whatever the case', () => {
    expect(matches(['Error a', 'b', 'no error'], 'ERROR')).toEqual([0, 2])
    expect(matches(['a'], '')).toEqual([])
    expect(split('an Error, an error', 'error')).toEqual(['an ', 'Error', ', an ', 'error', ''])
  })

  it('marks lines by their level', () => {
    expect(['time=x level=error msg=y', 'level=warning', 'level=info msg="no errors"'].map(levelOf)).toEqual(['error', 'warning', undefined])
  })
})

describe('goroutines', () => {
  const one = (n: number, state: string, arg: string) => ({
    threadName: `goroutine ${n}`,
    stringifiedThreadInfo: `goroutine ${n} [${state}]:\nmain.wait(${arg}, 0x2)\n\t/src/main.go:7 +0x1d\ncreated by main.main in goroutine 1\n\t/src/main.go:3 +0x2\n`,
  })
  it('with equal stacks are one group', () => {
    const { groups, notes } = group({
      threadInfos: [one(7, 'select', '0xc1'), one(8, 'select, 5 minutes', '0xc2'), one(9, 'running', '0xc3'), { threadName: '', stringifiedThreadInfo: '(cut: more)\n' }],
    })
    expect(groups.map((g) => [g.count, g.state, g.longest, g.top])).toEqual([[2, 'select', 5, 'main.wait'], [1, 'running', 0, 'main.wait']])
    expect(groups[0]!.stack).not.toContain('0x')
    expect(notes).toEqual(['(cut: more)'])
  })
})
