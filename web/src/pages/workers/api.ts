import type { Worker } from '../../lib/api'

/** GET taskmanagers/:id */
export interface WorkerDetails extends Worker {
  allocatedSlots: { jobId: string }[]
  metrics: { partitions?: number; partitionBytes?: number } // finished blocking partitions that it holds; -1: not known
}

/** GET taskmanagers/:id/hosts */
export interface Hosts {
  hosts: { id: string; job: string; residentMemory?: number; memoryBudget?: number }[] // bytes; -1: not known
}
