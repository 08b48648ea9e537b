// Whether the master answers, and what a reader can do if it does not. A pure function decides; parts/Frame shows it.

/** Facts are known about the answers of the master. Times are in ms since 1970. */
export interface Facts {
  now: number
  failedSince?: number // the first failure after the last answer; undefined: the master answers
  status?: number // of the last failure; 0: no answer of the master
  awaySince?: number // since when YARN's proxy has led elsewhere, without a break
  until?: number // the end of the browser's cookie, on its own clock; -1 or undefined: it has none, so the page came through YARN's proxy
  yarn?: YarnApplication
}

/** What YARN's ResourceManager says: GET ws/v1/cluster/apps/:id. */
export interface YarnApplication {
  state: string
  finalStatus: string
}

export type Presence =
  | { kind: 'here' }
  | { kind: 'silent'; since: number } // it may come back at its address
  | { kind: 'lost'; since: number } // it does not come back at this address, or is frozen
  | { kind: 'shut'; at: number } // the browser's access has ended
  | { kind: 'away'; since: number; known: boolean } // YARN's proxy has no master. known: YARN starts another one
  | { kind: 'probably ended'; since: number }
  | { kind: 'ended'; final: string }

/** A page at the master's own door tells after so long, in ms, that another master has another address. */
const patience = 30_000

/** So long, in ms, YARN may need for another master: it has a limit of ten minutes for a silent one, and a queue may be full. */
const replacement = 15 * 60_000

/** isOver says that YARN has ended the application, which does not change any more. */
export const isOver = (yarn?: YarnApplication) => yarn !== undefined && ['FINISHED', 'FAILED', 'KILLED'].includes(yarn.state)

/** presenceOf says that the application has ended only if YARN says so. A proxy without a master redirects in both cases. */
export function presenceOf({ now, failedSince, status, awaySince, until = -1, yarn }: Facts): Presence {
  if (failedSince === undefined) return { kind: 'here' }
  if (yarn && isOver(yarn)) return { kind: 'ended', final: yarn.finalStatus }
  if (awaySince !== undefined) {
    return yarn || now - awaySince < replacement ? { kind: 'away', since: awaySince, known: yarn !== undefined } : { kind: 'probably ended', since: awaySince }
  }
  const browser = until >= 0
  if (browser && (now >= until || status === 401 || status === 403)) return { kind: 'shut', at: Math.min(until, failedSince) }
  if (browser && now - failedSince >= patience) return { kind: 'lost', since: failedSince }
  return { kind: 'silent', since: failedSince }
}

/**
 * yarnPath is where YARN's ResourceManager tells about the application of a page, if its own proxy passes the page on. A gateway such
 * as Knox has the same layout below its prefix.
 */
export function yarnPath(pathname: string): string | undefined {
  const id = /\/proxy\/(application_\d+_\d+)\/$/.exec(pathname)?.[1]
  return id === undefined ? undefined : `../../ws/v1/cluster/apps/${id}`
}
