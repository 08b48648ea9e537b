import { expect, it, vi } from 'vitest'
import { rendered } from '../../parts/rendered'
import { uploadTime } from './api'

vi.stubGlobal('document', { hidden: false, addEventListener: () => {} })
const { FileField } = await import('./Upload')

// A program of 100 MB over a slow line was cut off, though the master would have taken it.
it('waits for an upload as long as the master takes it', () => {
  expect(uploadTime(0)).toBe(330_000)
  expect(uploadTime(100 << 20)).toBe(330_000 + 3_200_000)
})

// Another file made the form forget that it was sending the first one.
it('takes no other file while one is sent', () => {
  const field = (busy: boolean) => rendered(FileField({ busy, onChoose: () => {} })).at(-1)!.props['disabled']
  expect([field(true), field(false)]).toEqual([true, false])
})
