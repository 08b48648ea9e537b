// The REST answers that only the overview needs.

/** The part of GET jobs/:jobid/vertices that the list of jobs needs. */
export interface Vertices {
  vertices: { id: string; splits?: { read: number; all: number } }[]
  slow?: { brief: string; waits?: object; alone: boolean }
}
