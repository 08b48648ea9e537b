// Numbers and times for people. Each number that is shown has its unit.

const missing = '–'

function scaled(n: number, step: number, units: string[]): string {
  let value = n
  let unit = 0
  while (Math.abs(value) >= step && unit < units.length - 1) {
    value /= step
    unit++
  }
  const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : 1
  return `${value.toFixed(digits)} ${units[unit]}`.trim()
}

const shown = (n: number | null | undefined): n is number => n !== null && n !== undefined && Number.isFinite(n)

/** Bytes in powers of 1024, as Hadoop's pages show them: "1.5 GB". */
export function bytes(n: number | null | undefined): string {
  return shown(n) ? scaled(n, 1024, ['B', 'KB', 'MB', 'GB', 'TB', 'PB']) : missing
}

/** A count, short from 10,000 on: "9,999", "12.3 k", "1.2 M". */
export function count(n: number | null | undefined): string {
  if (!shown(n)) return missing
  return Math.abs(n) < 10_000 ? Math.round(n).toLocaleString('en') : scaled(n, 1000, ['', 'k', 'M', 'G', 'T'])
}

/** A number per second. With unit "B" in bytes: "1.2 MB/s"; else for example "3.4 k records/s". */
export function rate(n: number | null | undefined, unit = ''): string {
  if (!shown(n)) return missing
  if (unit === 'B') return `${bytes(n)}/s`
  const value = n !== 0 && Math.abs(n) < 10 ? n.toFixed(1) : count(n)
  return unit === '' ? `${value}/s` : `${value} ${unit}/s`
}

/** A number of milliseconds: "350 ms", "12.5 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function duration(ms: number | null | undefined): string {
  if (!shown(ms) || ms < 0) return missing
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const s = Math.floor(ms / 1000)
  const pair = (big: number, bigUnit: string, small: number, smallUnit: string) =>
    small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`
  if (s < 3600) return pair(Math.floor(s / 60), 'min', s % 60, 's')
  if (s < 86_400) return pair(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min')
  return pair(Math.floor(s / 86_400), 'd', Math.floor((s % 86_400) / 3600), 'h')
}

const two = (n: number) => String(n).padStart(2, '0')

/** A time of day in the browser's zone, with the date if it is another day than now: "14:03:21", "28 Nov 14:03:21". */
export function clock(ms: number | null | undefined, now = Date.now()): string {
  if (!shown(ms) || ms <= 0) return missing
  const t = new Date(ms)
  const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`
  if (t.toDateString() === new Date(now).toDateString()) return time
  const day = `${t.getDate()} ${t.toLocaleString('en', { month: 'short' })}`
  return t.getFullYear() === new Date(now).getFullYear() ? `${day} ${time}` : `${day} ${t.getFullYear()} ${time}`
}

/** A part of one: 0.042 is "4.2 %", 0.5 is "50 %". */
export function percent(x: number | null | undefined): string {
  if (!shown(x)) return missing
  const p = x * 100
  return `${p > 0 && p < 10 ? p.toFixed(1) : p.toFixed(0)} %`
}

/** A number with its noun: "1 slot", "3 slots". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** sentence makes a sentence of words that begin in lower case and have no full stop. */
export const sentence = (words: string) => words.charAt(0).toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? '' : '.')

/** The short form of an id of 32 digits, which is enough to tell jobs apart. */
export const short = (id: string) => id.slice(0, 8)
