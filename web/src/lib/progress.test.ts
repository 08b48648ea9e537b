import { describe, expect, it } from 'vitest'
import { inputWords, progressOf } from './progress'

describe('progressOf', () => {
  const tasks = { finished: 0, running: 3, total: 9 }
  it('counts splits until all are read, then tasks', () => {
    expect(progressOf('RUNNING', tasks, [{ splits: { read: 3, all: 8 } }, {}])).toEqual({ done: 3, all: 8, words: '3 of 8 input splits done' })
    expect(progressOf('RUNNING', tasks, [{ splits: { read: 8, all: 8 } }])?.words).toBe('8 of 8 input splits done')
    expect(progressOf('RUNNING', { ...tasks, finished: 4 }, [{ splits: { read: 8, all: 8 } }])).toEqual({ done: 4, all: 9, words: '4 of 9 subtasks finished' })
  })
  // A job said "0 of 16 splits read" for minutes, beside 26 MB that its sources had passed on.
  it('moves while a split is read, if the bytes of all sources are known', () => {
    const large = { read: 0, all: 16, 'read-bytes': 26 << 20, 'all-bytes': 104 << 20 }
    const small = { read: 1, all: 1, 'read-bytes': 4 << 20, 'all-bytes': 4 << 20 }
    expect(progressOf('RUNNING', tasks, [{ splits: large }, {}, { splits: small }])).toEqual({ done: 30 << 20, all: 108 << 20, words: '30.0 MB of 108 MB of input read, 1 of 17 splits done' })
    expect(progressOf('RUNNING', tasks, [{ splits: large }, { splits: { read: 1, all: 2, 'all-bytes': 0 } }])).toEqual({ done: 1, all: 18, words: '1 of 18 input splits done' })
    expect([inputWords(large), inputWords({ read: 1, all: 2 })]).toEqual(['25 % of input read, 0 of 16 splits done', '1 of 2 splits done'])
  })
  it('says how many tasks run before the first one is done', () => {
    expect(progressOf('RUNNING', tasks)).toEqual({ done: 0, all: 9, words: '3 of 9 subtasks running' })
    expect(progressOf('RUNNING', { ...tasks, running: 0 }, [{ splits: { read: 0, all: 8 } }])?.words).toBe('no subtask runs')
    expect(progressOf('CREATED', { finished: 0, running: 0, total: 1 })?.words).toBe('no subtask runs')
  })
  // A job that failed has read half of its input: the bar would go on to say so without any task that was done.
  it('counts the tasks of a job that has ended', () => {
    expect(progressOf('FAILED', { finished: 2, running: 0, total: 9 }, [{ splits: { read: 3, all: 8 } }])?.words).toBe('2 of 9 subtasks finished')
    expect(progressOf('FAILED', { finished: 0, running: 0, total: 9 })?.words).toBe('0 of 9 subtasks finished')
  })
  it('is unknown for a job without tasks', () => expect(progressOf('INITIALIZING', { finished: 0, running: 0, total: 0 })).toBeUndefined())
})
