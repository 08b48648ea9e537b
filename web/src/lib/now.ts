import { useEffect, useState } from 'preact/hooks'

/** useNow is the time in ms since 1970. It goes on each so many ms; null: it stands still. */
export function useNow(everyMs: number | null): number {
  const [now, tell] = useState(Date.now)
  useEffect(() => {
    if (everyMs === null) return
    tell(Date.now())
    const timer = setInterval(() => tell(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
