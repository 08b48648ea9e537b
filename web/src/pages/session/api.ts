// The REST answers that only the page of the session needs. Times are in ms since 1970.

/** REST ends the plan and the first job of a program after five minutes, and an upload may wait for others as long; the answer may need some more, in ms. */
export const longest = 5.5 * 60_000

/** REST takes a body that arrives at least so fast, in bytes a second (leastRate in appmaster/rest/body.go). */
const leastRate = 32 << 10

/** uploadTime is how long an upload of so many bytes may take, in ms. */
export const uploadTime = (size: number) => longest + (1000 * size) / leastRate

export interface Program {
  id: string // SHA-256
  name: string
  size: number // bytes
  uploaded: number
}

/** GET programs */
export interface Programs {
  programs: Program[]
}

/** A program that runs beside the master, and submits jobs. */
export interface Driver {
  id: string
  program: string
  name: string
  started: number
  jobs: number
  lastJob?: string
}

/** GET drivers */
export interface Drivers {
  drivers: Driver[]
}

/** POST programs/:id/plan */
export interface PlanAnswer {
  plan: {
    name: string
    nodes: { id: string; description: string; parallelism: number; inputs?: { id: string; ship_strategy: string }[] }[]
  }
}

/** The body of POST programs/:id/plan and …/run. */
export interface RunRequest {
  programArgsList: string[]
  parallelism?: number
}
