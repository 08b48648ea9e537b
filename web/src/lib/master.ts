// The clock of the master. The browser's may be minutes off, so a time of the master is compared with no time of the browser.

// So much is the master's clock ahead of the browser's, at least and at most, in ms.
let least = -Infinity
let most = Infinity

/**
 * learn narrows down how far the clocks are apart, by the Date header of an answer, and by the browser's times of the question and of the
 * answer. The header has whole seconds, so many answers tell more than one.
 */
export function learn(date: string | null, asked: number, answered: number) {
  const second = Date.parse(date ?? '')
  if (Number.isNaN(second)) return
  const from = second - answered
  const to = second + 1000 - asked
  const agrees = from <= most && to >= least
  least = agrees ? Math.max(least, from) : from // otherwise somebody has set one of the clocks
  most = agrees ? Math.min(most, to) : to
}

/** ahead corrects no more than it must: nothing if both clocks may be the same. */
const ahead = () => Math.min(Math.max(0, least), most)

/** toMaster is the time on the master's clock at a time of the browser's. Both are in ms since 1970. */
export const toMaster = (browser: number) => browser + ahead()

/** toBrowser is the time on the browser's clock at a time of the master's. */
export const toBrowser = (master: number) => master - ahead()

/** ageOf is how long ago a time of the master was, in ms and never below 0: since then, or until a time of the browser. */
export const ageOf = (master: number, browser = Date.now()) => Math.max(0, toMaster(browser) - master)
