// The part of a followed log that the browser keeps.

/** The most that is kept, in characters. The oldest lines go first. */
export const mostText = 4 << 20
/** How much of the end is asked for first, in bytes. */
export const firstPart = 256 << 10

export interface Log {
  lines: string[]
  rest: string // the last line, which has no end yet
  size: number // characters
  cut: boolean // older lines are not here
}

export const noLog: Log = { lines: [], rest: '', size: 0, cut: false }

/** append adds what was written. Lines that were there before stay the same strings. */
export function append(log: Log, text: string, most = mostText): Log {
  if (text === '') return log
  const parts = (log.rest + text).split('\n')
  const rest = parts.pop()!
  const lines = log.lines.concat(parts.map((l) => l.replace(/\r$/, '')))
  let size = log.size + text.length
  let drop = 0
  while (size > most && drop < lines.length) size -= lines[drop++]!.length + 1
  if (rest.length > most) return { lines: [], rest: rest.slice(-most), size: most, cut: true }
  return { lines: drop > 0 ? lines.slice(drop) : lines, rest, size, cut: log.cut || drop > 0 }
}

/** all returns the lines with the last one, if it has begun. */
export const all = (log: Log) => (log.rest === '' ? log.lines : [...log.lines, log.rest])

/** matches returns the indexes of lines that have a text, whatever its case. */
export function matches(lines: string[], text: string): number[] {
  if (text === '') return []
  const wanted = text.toLowerCase()
  const found: number[] = []
  lines.forEach((l, i) => {
    if (l.toLowerCase().includes(wanted)) found.push(i)
  })
  return found
}

/** split cuts a line into parts; those with an odd index are what was searched for. */
export function split(line: string, text: string): string[] {
  if (text === '') return [line]
  const parts: string[] = []
  const lower = line.toLowerCase()
  const wanted = text.toLowerCase()
  let from = 0
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(line.slice(from, at), line.slice(at, at + text.length))
    from = at + text.length
  }
  parts.push(line.slice(from))
  return parts
}

/** levelOf is the level of a line of Bobbin's logs, or undefined. */
export function levelOf(line: string): 'error' | 'warning' | undefined {
  if (/\blevel=(error|fatal|panic)\b|\bERROR\b|\bFATAL\b|^panic:/.test(line)) return 'error'
  return /\blevel=warn(ing)?\b|\bWARN(ING)?\b/.test(line) ? 'warning' : undefined
}
