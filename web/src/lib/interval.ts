// How often the page asks.
import type { Config } from './api'

/** longest is the longest time that a timer of a browser takes, in ms. A longer one would end at once. */
const longest = 2 ** 31 - 1

/** intervalOf is how often a part asks, in ms: of a master as often as the part wants, of a history server as its option says. */
export function intervalOf(config: Config | undefined, wanted: number): number {
  return config?.features['web-history'] === true ? Math.min(config['refresh-interval'], longest) : wanted
}
