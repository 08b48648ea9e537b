// The REST answers that only the overview needs.

/** What the list of jobs needs of GET jobs/:jobid/vertices. */
export interface Vertices {
  vertices: { id: string; splits?: { read: number; all: number } }[]
  slow?: { brief: string; waits?: object; alone: boolean }
}
