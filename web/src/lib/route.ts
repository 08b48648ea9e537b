// Routes behind "#", so that all links work below any prefix: #/jobs/ID/tab.
import { useEffect, useState } from 'preact/hooks'

export interface Route {
  page: string // 'overview' for an empty route
  args: string[]
}

export function parse(hash: string): Route {
  const parts = hash.replace(/^#?\/?/, '').split('/').filter((p) => p !== '').map(decoded)
  return { page: parts[0] ?? 'overview', args: parts.slice(1) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** href returns the link to a page: href('jobs', id, 'exceptions'). */
export function href(page: string, ...args: (string | number)[]): string {
  return '#/' + (page === 'overview' ? args : [page, ...args]).map((a) => encodeURIComponent(a)).join('/')
}

/** archivedLog is the link to the log of a worker at a history server, which leads on to YARN's log server. */
export const archivedLog = (job: string, worker: string) => `jobs/${encodeURIComponent(job)}/taskmanagers/${encodeURIComponent(worker)}/log`

/** masterLog is the link to the log of the master of an archived job at a history server. */
export const masterLog = (job: string) => `jobs/${encodeURIComponent(job)}/jobmanager/log`

/** go changes the route, as a click on a link does. */
export function go(page: string, ...args: (string | number)[]) {
  location.hash = href(page, ...args)
}

export function useRoute(): Route {
  const [route, change] = useState(() => parse(location.hash))
  useEffect(() => {
    const changed = () => change(parse(location.hash))
    window.addEventListener('hashchange', changed)
    return () => window.removeEventListener('hashchange', changed)
  }, [])
  return route
}
