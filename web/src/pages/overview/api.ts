// The REST answers that only the overview needs.
import type { Splits } from '../../lib/progress'

/** The part of GET jobs/:jobid/vertices that the list of jobs needs. */
export interface Vertices {
  vertices: { id: string; splits?: Splits }[]
  slow?: { brief: string; waits?: object; alone: boolean }
}
