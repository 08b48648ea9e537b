// The REST answers that only the overview needs.

/** What the list of jobs needs of GET jobs/:jobid/vertices. */
export interface Splits {
  vertices: { id: string; splits?: { read: number; all: number } }[]
}
