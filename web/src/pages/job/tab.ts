import type { Job, Slow, Summary } from './api'

/** Each tab gets these. */
export interface TabProps {
  job: Job
  summaries: Map<string, Summary>
  slow?: Slow // as the master says
  settled: boolean // summaries and slow are known, or are not to be had
  vertex?: string // the selected one
  history: boolean // an archive answers, not a master
  logs: boolean // of an archive: its server leads to the logs of workers
  every: number // how often to ask, in ms
}
