import './Badge.css'

export type Tone = 'good' | 'run' | 'warn' | 'bad' | 'quiet'

const tones: Record<string, Tone> = {
  RUNNING: 'run', FINISHED: 'good', FAILED: 'bad', FAILING: 'bad', CANCELED: 'quiet', CANCELLING: 'warn', CANCELING: 'warn',
  RESTARTING: 'warn', SUSPENDED: 'warn', SCHEDULED: 'warn', DEPLOYING: 'warn', INITIALIZING: 'warn', RECONCILING: 'warn', CREATED: 'warn',
}

/** toneOf returns the meaning of a state of a job or a task. */
export const toneOf = (state: string): Tone => tones[state] ?? 'quiet'

/** stateWord is the word for a state. Tasks that are created wait for their slots, as their job does: both have the same word. */
export const stateWord = (state: string) => (state === 'CREATED' ? 'waiting' : state.toLowerCase().replaceAll('_', ' '))

interface Props {
  state: string // FINISHED; or any word, with a tone
  tone?: Tone
}

/** Badge shows a state by a colour and by its word. */
export function Badge({ state, tone }: Props) {
  return <span class={`badge badge-${tone ?? toneOf(state)}`}>{stateWord(state)}</span>
}
