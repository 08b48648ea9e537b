import type { Worker } from '../../lib/api'

/** GET taskmanagers/:id */
export interface WorkerDetails extends Worker {
  allocatedSlots: { jobId: string }[]
}

/** GET taskmanagers/:id/hosts */
export interface Hosts {
  hosts: { id: string; job: string; residentMemory?: number; memoryBudget?: number }[] // bytes; -1: not known
}
