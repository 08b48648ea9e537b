// The REST answers that only the page of a job needs.
import type { JobState, TaskState } from '../../lib/api'
import type { Splits } from '../../lib/progress'

/** Traffic and times of a task, or of all tasks of a vertex. Times are in ms, of all tasks together. */
export interface Io {
  'read-bytes': number
  'write-bytes': number
  'read-records': number
  'write-records': number
  'accumulated-backpressured-time': number
  'accumulated-idle-time': number
  'accumulated-busy-time': number // a job of Flink may have none: "NaN"
}

export interface Vertex {
  id: string
  name: string
  parallelism: number
  status: TaskState
  'start-time': number // -1: not yet
  'end-time': number
  duration: number
  tasks: Record<TaskState, number>
  metrics: Io
  waits?: { tasks: number; for: { vertex: string; tasks: number }[]; brief: string; words: string } // tasks that wait for their inputs
}

export interface PlanInput {
  num: number
  id: string
  ship_strategy: string
  exchange: string
}

export interface PlanNode {
  id: string
  parallelism: number
  description: string
  inputs?: PlanInput[]
  slotSharingGroup?: string
}

export interface Plan {
  nodes: PlanNode[]
}

/** GET jobs/:jobid */
export interface Job {
  jid: string
  name: string
  state: JobState
  'start-time': number
  'end-time': number
  duration: number
  now: number
  timestamps: Record<JobState, number>
  vertices: Vertex[]
  plan: Plan
  left?: string // what all of its tasks that are left wait for: "all that is left waits for “read”"
  note?: string // how it runs, if people would not expect it: "it runs in waves …"
}

export interface Spread {
  subtask: number // its index, from 0, as in all answers; people see the number from 1
  most: number
  median: number
  sum: number
  usual: number // of a subtask
  outlier: number // from this amount on, a subtask has too much
}

/** The measures of which a subtask may have too much. */
export type Measure = 'read-records' | 'write-records' | 'read-bytes' | 'busy-time'

/** The subtask that has too much of the work of a vertex. */
export interface Skew {
  of: Measure
  subtask: number
  share: number
  key: boolean // because of a key
  brief: string
  words: string
}

/** The vertex that makes a job slow. */
export interface Slow {
  vertex: string
  subtask: number
  busy: number
  mean: number
  alone: boolean // one subtask has most of the work
  waits?: { vertex: string; subtask: number; share: number } // missing: nobody waits for it
  words: string
}

export interface Share {
  subtask: number
  share: number
}

export interface Activity {
  tasks: number
  busy: number
  idle: number
  'back-pressured': number
  'most-busy': Share
  'most-back-pressured': Share
}

export interface Summary {
  id: string
  splits?: Splits
  'earlier-attempts': number
  activity?: Activity
  rates?: { 'read-records': number; 'write-records': number; 'read-bytes': number; 'write-bytes': number }
  spread?: Record<Measure, Spread>
  skew?: Skew
}

/** GET jobs/:jobid/vertices. Archives of Flink do not have it. */
export interface Summaries {
  now: number
  restarts?: number // missing: a master of an earlier release
  troubled?: boolean // tasks have failed; missing as restarts
  vertices: Summary[]
  slow?: Slow
}

export interface Subtask {
  subtask: number
  status: TaskState
  attempt: number
  host: string
  'start-time': number
  'end-time': number
  duration: number
  metrics: Io
  'taskmanager-id': string
}

/** GET jobs/:jobid/vertices/:vertexid */
export interface VertexDetails {
  id: string
  name: string
  parallelism: number
  now: number
  subtasks: Subtask[]
  backpressure?: BackPressure // with ?backpressure=true
}

/** The present activity of each subtask. */
export interface BackPressure {
  status: string
  subtasks?: { subtask: number; ratio: number; idleRatio: number; busyRatio: number }[]
}

export interface Attempt {
  subtask: number
  attempt: number
  status: TaskState
  worker: number // index of Timeline.workers; -1: none
  entered: number[] // ms since 1970, in the order of Timeline.states; 0: never
}

/** GET jobs/:jobid/timeline */
export interface Timeline {
  now: number
  states: TaskState[]
  workers: { id: string; host: string }[]
  vertices: { id: string; name: string; attempts: Attempt[]; omitted?: number }[]
  omitted: number // of all vertices
}

/** GET …/subtasktimes */
export interface SubtaskTimes {
  id: string
  name: string
  now: number
  subtasks: { subtask: number; host: string; timestamps: Record<TaskState, number> }[]
}

export interface ExceptionEntry {
  exceptionName: string
  stacktrace: string
  timestamp: number
  taskName?: string
  location?: string
  taskManagerId?: string
}

/** GET jobs/:jobid/exceptions */
export interface Exceptions {
  'root-exception': string | null
  timestamp: number | null
  exceptionHistory: { entries: ExceptionEntry[]; truncated: boolean }
}

export interface Accumulator {
  name: string
  type: string
  value: string
}

/** GET jobs/:jobid/accumulators */
export interface Accumulators {
  'user-task-accumulators': Accumulator[]
}

/** GET jobs/:jobid/config */
export interface JobConfig {
  'execution-config'?: { // an archive of Flink may have none
    'restart-strategy': string
    'job-parallelism': number
    'user-config': Record<string, string>
  }
}
