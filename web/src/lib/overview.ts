// The one answer that each page asks for: it shows whether the master answers.
import type { Overview } from './api'
import type { Polled } from './poll'
import { usePoll } from './poll'

/** useOverview polls the numbers of workers, slots and jobs. Each open page costs the master this request all the time, so it is a rare one. */
export const useOverview = (): Polled<Overview> => usePoll<Overview>('overview', 3000)
