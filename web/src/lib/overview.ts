// The one answer that each page asks for: it shows whether the master answers.
import type { Config, Overview } from './api'
import { intervalOf } from './interval'
import type { Polled } from './poll'
import { usePoll } from './poll'

/** useOverview polls the numbers of workers, slots and jobs. Each open page costs the master this request all the time, so it is a rare one. */
export function useOverview(): Polled<Overview> {
  const config = usePoll<Config>('config', 60_000).data
  return usePoll<Overview>('overview', intervalOf(config, 4000))
}
