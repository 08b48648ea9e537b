// The REST answers that only the page of the session needs. Times are in ms since 1970.

/** REST ends the upload, the plan and the first job of a program after five minutes; the answer may need some more, in ms. */
export const longest = 5.5 * 60_000

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
