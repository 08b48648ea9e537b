import { expect, it } from 'vitest'
import type { Summary, Vertex } from './api'
import { flowWords } from './flow'

const vertex = (status: string, readRecords: number, readBytes: number, writeRecords: number, writeBytes: number) => ({
  status, metrics: { 'read-records': readRecords, 'read-bytes': readBytes, 'write-records': writeRecords, 'write-bytes': writeBytes },
}) as unknown as Vertex
const rates = (of: Vertex) => ({ rates: of.metrics }) as unknown as Summary

// A card said "in 8" without a unit, and "in 2.7 MB · out 1,244 records/s": bytes beside records, and a sum that looked like a rate.
it('flowWords compares the same unit, and says whether it is a rate', () => {
  const source = vertex('RUNNING', 0, 3 << 20, 1244, 1 << 20)
  expect(flowWords(source, rates(source))).toBe('in 3.0 MB/s · out 1.0 MB/s')
  expect(flowWords(source)).toBe('in 3.0 MB · out 1.0 MB in all')
  expect(flowWords(source, rates(vertex('RUNNING', 0, 0, 1544, 1 << 20)))).toBe('in 0 B/s · out 1.0 MB/s')
  const middle = vertex('RUNNING', 1167, 1 << 20, 9, 100)
  expect(flowWords(middle, rates(middle))).toBe('in 1,167 rec/s · out 9 rec/s')
  const sink = vertex('FINISHED', 1167, 1 << 20, 0, 2 << 20)
  expect(flowWords(sink, rates(source))).toBe('in 1.0 MB · out 2.0 MB in all')
  expect(flowWords(vertex('RUNNING', 0, 0, 0, 0))).toBe('in 0 rec · out 0 rec in all')
})
