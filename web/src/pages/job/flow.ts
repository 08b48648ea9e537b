// The flow of data through a vertex, in words.
import { bytes, count } from '../../lib/format'
import type { Io, Summary, Vertex } from './api'

type Flow = Pick<Io, 'read-records' | 'read-bytes' | 'write-records' | 'write-bytes'>

/**
 * flowWords compares what goes in and out, both in the same unit: in a second while tasks run, and in all before and after. Files have
 * no records, so a vertex that reads or writes files is told in bytes.
 */
export function flowWords(v: Vertex, summary?: Summary): string {
  const rates = v.status === 'RUNNING' ? summary?.rates : undefined
  const flow: Flow = rates ?? v.metrics
  const sum = v.metrics // a source may read nothing at the moment
  const files = (sum['read-records'] === 0 && sum['read-bytes'] > 0) || (sum['write-records'] === 0 && sum['write-bytes'] > 0)
  const words = files
    ? [bytes(flow['read-bytes']), bytes(flow['write-bytes'])]
    : [`${count(flow['read-records'])} rec`, `${count(flow['write-records'])} rec`]
  return rates ? `in ${words[0]}/s · out ${words[1]}/s` : `in ${words[0]} · out ${words[1]} in all`
}
