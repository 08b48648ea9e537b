// The types of REST answers that several pages need, and requests that change something.
// A page has the types that only it needs in an api.ts of its own.
import { ask, Failure, parsed } from './ask'

export type JobState =
  | 'INITIALIZING' | 'CREATED' | 'RUNNING' | 'FAILING' | 'FAILED' | 'CANCELLING' | 'CANCELED' | 'FINISHED'
  | 'RESTARTING' | 'SUSPENDED' | 'RECONCILING'

const ended: JobState[] = ['FINISHED', 'FAILED', 'CANCELED']

/** hasEnded says that nothing changes in a job any more. SUSPENDED is no end: another master goes on with it. */
export const hasEnded = (state: JobState) => ended.includes(state)

export type TaskState =
  | 'CREATED' | 'SCHEDULED' | 'DEPLOYING' | 'INITIALIZING' | 'RUNNING' | 'FINISHED' | 'CANCELING' | 'CANCELED'
  | 'FAILED' | 'RECONCILING'

/** GET config. Features that are absent are off. */
export interface Config {
  'refresh-interval': number
  'flink-version': string
  'flink-revision': string
  features: {
    'web-submit'?: boolean
    'web-cancel'?: boolean
    'web-history'?: boolean
    'web-logs'?: boolean // the history server leads to the logs of workers
    'web-master-logs'?: boolean // and to those of the master
  }
}

/** GET overview */
export interface Overview {
  taskmanagers: number
  'slots-total': number
  'slots-available': number
  'jobs-running': number
  'jobs-finished': number
  'jobs-cancelled': number
  'jobs-failed': number
  'flink-version': string
}

export interface JobSummary {
  jid: string
  name: string
  state: JobState
  'start-time': number
  'end-time': number // -1: it has not ended
  duration: number
  'last-modification': number
  tasks: Record<Lowercase<TaskState> | 'total', number>
}

/** GET jobs/overview */
export interface JobsOverview {
  jobs: JobSummary[]
}

export interface Worker {
  id: string
  path: string // its host
  timeSinceLastHeartbeat: number // ms since 1970 of the last heartbeat, as Flink has it
  slotsNumber: number
  freeSlots: number
  totalResource: { cpuCores: number; taskHeapMemory: number; managedMemory: number; networkMemory: number }
  hardware: { cpuCores: number; physicalMemory: number; freeMemory: number; managedMemory: number }
  memoryConfiguration: { totalProcessMemory: number; totalFlinkMemory: number }
}

/** GET taskmanagers */
export interface Workers {
  taskmanagers: Worker[]
}

/** GET slots. Times are in ms since 1970; -1: none. */
export interface Slots {
  slotsTotal: number
  slotsAvailable: number
  slotsPerTaskManager: number
  taskManagerMemoryMB: number
  containersStarting: number
  containersRequested: number
  requestedSince: number
  refused: string
  jobs: { jid: string; slotsNeeded: number; slotsHeld: number; waitsSince: number }[]
}

/** GET jobs/:jobid/waiting */
export interface Waiting {
  waiting: boolean
  since: number
  words: string
  reasons: { reason: string; words: string; remedy: string }[]
}

/** GET start and jobs/:jobid/start, in the order of begin. */
export interface Step {
  name: string
  begin: number
  end: number | null // null: it goes on
  detail: string
}

/** A start of the ApplicationMaster. */
export interface Attempt {
  attempt: number
  container: string
  node?: string
  state: string // YARN's; '': it has ended, and the master cannot ask YARN how
  started: number
  ended: number
  diagnostics?: string
}

/** GET application. Times are in ms since 1970; -1: not known. */
export interface Application {
  id: string
  name: string
  user: string
  queue: string
  mode: string
  attempt: number
  submitted: number
  started: number
  trackingUrl: string
  address: string
  resourceManager: string
  highAvailability: string // "": jobs end with the ApplicationMaster
  logUrl: string
  version: string
  revision: string
  attempts: Attempt[]
  tokens: { kind: string; service: string; renewer: string; end: number }[]
}

/** GET access */
export interface Access {
  user: string
  change: boolean
  run: boolean // may run programs
  until: number // the end of the browser's cookie, ms since 1970; -1: it has none
  how: string // the command that gives the way in
}

/** A change may take this long, in ms: YARN and HDFS may have to answer first. */
const patience = 60_000

async function send<T>(method: string, path: string, body?: unknown, most = patience): Promise<T> {
  const plain = body instanceof FormData || body instanceof Blob || body === undefined
  try {
    return await ask(path, {
      method, patience: most,
      headers: plain ? {} : { 'Content-Type': 'application/json' },
      body: plain ? (body as BodyInit | undefined) : JSON.stringify(body),
    }, async (answer) => {
      const text = await answer.text()
      return (text === '' ? {} : parsed(text)) as T
    })
  } catch (e) {
    if (!(e instanceof Failure) || e.status !== 0) throw e
    throw new Failure(0, `${e.message} The request may have been carried out: look before you repeat it.`, e.away)
  }
}

/** post sends JSON, a form or a file. It waits for the answer for a minute, or for most ms. It throws a Failure. */
export const post = <T>(path: string, body?: unknown, most?: number) => send<T>('POST', path, body, most)
export const patch = <T>(path: string, body?: unknown) => send<T>('PATCH', path, body)
export const del = <T>(path: string) => send<T>('DELETE', path)
