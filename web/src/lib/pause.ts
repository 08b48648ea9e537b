// The times between questions.

/** After a failure the next request comes this soon, in ms, and then after twice the time: what was refused once may be granted soon. */
const soon = 2000

/** A slow answer is followed by so many times its time without a request. A failure is followed by its own time: nobody worked for it. */
const rest = 3

/** pause returns the time from the begin of a request to the begin of the next one, in ms. */
export function pause(interval: number, took: number, failures: number): number {
  const wanted = failures > 0 ? Math.min(interval, soon * 2 ** (failures - 1)) : interval
  return Math.max(wanted, (1 + (failures > 0 ? 1 : rest)) * took)
}
