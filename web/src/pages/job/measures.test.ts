import { describe, expect, it } from 'vitest'
import type { Subtask } from './api'
import { amount, counterWord, scaleOf, timesWord } from './measures'

const tasks = (...records: number[]) => records.map((n, subtask) => ({ subtask, metrics: { 'read-records': n, 'accumulated-busy-time': 'NaN' } }) as unknown as Subtask)

describe('subtasks beside each other', () => {
  it('are compared with the largest of them, and with what the master calls usual', () => {
    expect(scaleOf('read-records', tasks(4, 1, 9), { subtask: 2, most: 8, median: 4, sum: 13, usual: 2, outlier: 1000 })).toEqual({ most: 9, usual: 2, outlier: 1000 })
  })
  it('of a job of Flink have no usual amount, and no busy time', () => {
    expect(scaleOf('read-records', tasks(4, 1))).toEqual({ most: 4, usual: undefined, outlier: Infinity })
    expect(scaleOf('busy-time', tasks(4, 1)).most).toBe(0)
    expect(scaleOf('read-records', [])).toEqual({ most: 0, usual: undefined, outlier: Infinity })
  })
  it('have marks and units', () => {
    expect([timesWord(61, 10), timesWord(5_000_000, 10), timesWord(5, 0)]).toEqual(['6.1× the usual', '500 k× the usual', 'the others have nothing'])
    expect([amount('read-bytes', 2048), amount('busy-time', 5000), amount('read-records', 12_345)]).toEqual(['2.0 KB', '5.0 s', '12.3 k'])
  })
  it('have counters with all their digits', () => {
    expect([counterWord('9007199254740993'), counterWord('-12'), counterWord('{a=1}'), counterWord('1.5')]).toEqual(['9,007,199,254,740,993', '-12', '{a=1}', '1.5'])
  })
})
