import { percent } from '../../lib/format'
import type { Shares } from './diagnosis'

/** SharesBar shows how time is spent: busy, back-pressured, idle. It is pale if that is not what they do now. The words stand beside it. */
export function SharesBar({ shares }: { shares: Shares }) {
  const words = `${shares.now ? 'Now' : 'Over its whole time'}: busy ${percent(shares.busy)}, back-pressured ${percent(shares.pressed)}, idle ${percent(shares.idle)}`
  return (
    <span class={`shares ${shares.now ? '' : 'shares-past'}`} role="img" aria-label={words} title={words}>
      <i class="shares-busy" style={{ width: `${100 * shares.busy}%` }} />
      <i class="shares-pressed" style={{ width: `${100 * shares.pressed}%` }} />
      <i class="shares-idle" style={{ width: `${100 * shares.idle}%` }} />
    </span>
  )
}
