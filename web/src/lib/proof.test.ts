import { afterEach, describe, expect, it, vi } from 'vitest'
import { proof } from './proof'

describe('proof', () => {
  afterEach(() => vi.unstubAllGlobals())

  it('sends what the page of a link has kept', () => {
    const kept = new Map([['bobbin-csrf', 'value']])
    vi.stubGlobal('localStorage', { getItem: (name: string) => kept.get(name) ?? null })
    expect(proof()).toEqual({ 'X-Bobbin-CSRF': 'value' })
    kept.clear()
    expect(proof()).toEqual({})
  })

  it('does without a store', () => {
    vi.stubGlobal('localStorage', { getItem: () => { throw new Error('denied') } })
    expect(proof()).toEqual({})
  })
})
