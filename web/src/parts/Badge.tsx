import './Badge.css'

export type Tone = 'good' | 'run' | 'warn' | 'bad' | 'quiet'

const tones: Record<string, Tone> = {
  RUNNING: 'run', FINISHED: 'good', FAILED: 'bad', FAILING: 'bad', CANCELED: 'quiet', CANCELLING: 'warn', CANCELING: 'warn',
  RESTARTING: 'warn', SUSPENDED: 'warn', SCHEDULED: 'warn', DEPLOYING: 'warn', INITIALIZING: 'warn', RECONCILING: 'warn', CREATED: 'quiet',
}

/** toneOf returns the meaning of a state of a job or a task. */
export const toneOf = (state: string): Tone => tones[state] ?? 'quiet'

interface Props {
  state: string // FINISHED; or any word, with a tone
  tone?: Tone
}

/** Badge shows a state by a colour and by its word. */
export function Badge({ state, tone }: Props) {
  return <span class={`badge badge-${tone ?? toneOf(state)}`}>{state.toLowerCase().replaceAll('_', ' ')}</span>
}
