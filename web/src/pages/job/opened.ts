// Which vertex a tab shows before the reader has chosen one.
import { useRef } from 'preact/hooks'
import type { TabProps } from './tab'
import type { Slow, Summary, Vertex } from './api'
import { mostSkewed, valueOf } from './measures'

/** vertexToOpen is the vertex with the most skew, the slow one, or the one whose subtasks have worked most. If the slow one has skew, it comes first. */
export function vertexToOpen(vertices: Vertex[], summaries: Map<string, Summary>, slow?: Slow): string | undefined {
  const slowest = vertices.find((v) => v.id === slow?.vertex)
  if (slowest && (slow!.alone || summaries.get(slowest.id)?.skew)) return slowest.id
  const worked = (v: Vertex) => valueOf('busy-time', v.metrics) / Math.max(1, v.parallelism)
  const most = vertices.reduce<Vertex | undefined>((best, v) => (best === undefined || worked(v) > worked(best) ? v : best), undefined)
  return (mostSkewed(vertices, summaries)[0]?.v ?? slowest ?? most)?.id
}

/** useOpened keeps the vertex that a tab has opened with: it must not change while somebody reads. undefined: it is not known yet. */
export function useOpened({ job, summaries, slow, settled, vertex }: TabProps, among: (v: Vertex) => boolean = () => true): string | undefined {
  const opened = useRef<string | undefined>(undefined)
  if (vertex !== undefined) return vertex
  if (opened.current === undefined && settled) {
    const some = job.vertices.filter(among)
    opened.current = vertexToOpen(some.length > 0 ? some : job.vertices, summaries, slow)
  }
  return opened.current
}
