// Words of the master for the page: with times in the reader's zone and jobs by their names.
import { clock } from './format'

/** A part of words: a text, or the id of a job. */
export type Piece = string | { job: string }

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const time = new RegExp(`\\b(?:(\\d{1,2}) (${months.join('|')}) (\\d{4}) )?(\\d\\d):(\\d\\d):(\\d\\d) UTC\\b`, 'g')
const day = 86_400_000

/**
 * localTimes writes the times in the master's words as the page writes all others. The master has them in UTC, and without the day if
 * they are less than half a day away (appmaster/rest/waiting.go).
 */
export function localTimes(words: string, now = Date.now()): string {
  return words.replace(time, (_, d: string | undefined, month: string, year: string, h: string, m: string, s: string) => {
    if (d !== undefined) return clock(Date.UTC(Number(year), months.indexOf(month), Number(d), Number(h), Number(m), Number(s)), now)
    const today = new Date(now)
    const at = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate(), Number(h), Number(m), Number(s))
    return clock([at - day, at, at + day].reduce((best, one) => (Math.abs(one - now) < Math.abs(best - now) ? one : best)), now)
  })
}

/** piecesOf finds the ids of jobs in words. */
export const piecesOf = (words: string): Piece[] => words.split(/\b([0-9a-f]{32})\b/)
  .map((text, i) => (i % 2 === 1 ? { job: text } : text)).filter((piece) => piece !== '')

/** zone is the short name of the reader's time zone: all times of the page are in it. */
export const zone = (now = Date.now()) =>
  new Intl.DateTimeFormat('en', { timeZoneName: 'short' }).formatToParts(now).find((part) => part.type === 'timeZoneName')?.value ?? ''
