import { describe, expect, it } from 'vitest'
import { href, parse } from './route'

describe('routes', () => {
  it('come back from their links', () => {
    for (const [page, ...args] of [['overview'], ['jobs', 'abc'], ['workers', 'container_1', 'a log/file#1'], ['jobs', '50 %']]) {
      expect(parse(href(page!, ...args))).toEqual({ page, args })
    }
  })

  it('survive a link that someone cut', () => {
    expect(parse('')).toEqual({ page: 'overview', args: [] })
    expect(parse('#/jobs/%E4%')).toEqual({ page: 'jobs', args: ['%E4%'] })
  })
})
