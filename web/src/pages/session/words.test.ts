import { describe, expect, it } from 'vitest'
import { split } from './words'

describe('split', () => {
  it('separates arguments as a shell does', () => {
    expect(split('  -n 3 hdfs:///a\t/b ')).toEqual(['-n', '3', 'hdfs:///a', '/b'])
    expect(split(`"two words" 'and "more"' a\\ b "" x"y z"`)).toEqual(['two words', 'and "more"', 'a b', '', 'xy z'])
    expect(split(`'C:\\dir' "say \\"hi\\""`)).toEqual(['C:\\dir', 'say "hi"'])
    expect(split('')).toEqual([])
  })

  it('refuses a quote without end, instead of guessing', () => {
    expect(() => split('a "b')).toThrow('no end')
  })
})
