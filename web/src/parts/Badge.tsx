import './Badge.css'

export type Tone = 'good' | 'run' | 'warn' | 'bad' | 'quiet'

const tones: Record<string, Tone> = {
  RUNNING: 'run', FINISHED: 'good', FAILED: 'bad', FAILING: 'bad', CANCELED: 'quiet', CANCELLING: 'warn', CANCELING: 'warn',
  RESTARTING: 'warn', SUSPENDED: 'warn', SCHEDULED: 'warn', DEPLOYING: 'warn', INITIALIZING: 'warn', RECONCILING: 'warn', CREATED: 'warn',
}

const over = ['FINISHED', 'FAILED', 'CANCELED']

/** toneOf returns the meaning of a state of a job or a task. past: it is from an archive, where nothing goes on any more. */
export const toneOf = (state: string, past = false): Tone => (past && !over.includes(state) ? 'quiet' : tones[state] ?? 'quiet')

/** stateWord is the word for a state. Tasks that are created wait for their slots, as their job does: both have the same word. */
export const stateWord = (state: string) => (state === 'CREATED' ? 'waiting' : state.toLowerCase().replaceAll('_', ' '))

interface Props {
  state: string // FINISHED; or any word, with a tone
  tone?: Tone
  past?: boolean // of an archive, see toneOf
}

/** Badge shows a state by a colour and by its word. */
export function Badge({ state, tone, past }: Props) {
  return <span class={`badge badge-${tone ?? toneOf(state, past)}`}>{stateWord(state)}</span>
}
