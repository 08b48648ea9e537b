// The one way in which the page asks the master.
import { learn } from './master'
import { proof } from './proof'

/** Failure is an answer other than success. */
export class Failure extends Error {
  readonly status: number // 0: no answer of the master
  /** YARN's proxy leads elsewhere: the application has ended, or has no master at this moment. */
  readonly away: boolean
  constructor(status: number, text: string, away = false) {
    super(text)
    this.status = status
    this.away = away
  }
}

export interface Question {
  method?: string // GET if it is absent
  headers?: Record<string, string>
  body?: BodyInit
  signal?: AbortSignal
  /** How long the question may take with its answer, in ms, before it counts as failed: the master may be frozen. 15 s if it is absent. */
  patience?: number
}

const patience = 15_000

/** ask sends a question, and returns what read makes of a good answer. It throws a Failure for any other one. */
export async function ask<T>(path: string, question: Question, read: (answer: Response) => Promise<T>): Promise<T> {
  const { method, headers, body, signal } = question
  const late = AbortSignal.timeout(question.patience ?? patience)
  const asked = Date.now()
  try {
    // A redirect is not followed: it leads to a page for people, at YARN or at the history server.
    const answer = await fetch(path, {
      method, body, redirect: 'manual', signal: signal ? AbortSignal.any([signal, late]) : late,
      headers: { Accept: 'application/json', ...proof(), ...headers },
    })
    if (answer.type === 'opaqueredirect') throw new Failure(0, 'YARN’s proxy leads elsewhere.', true)
    if (answer.ok) learn(answer.headers.get('Date'), asked, Date.now())
    if (!answer.ok) {
      const words = reason(await answer.text())
      // Each refusal of the master has its reason. YARN's proxy has a page: it finds no master at the address that it knows.
      throw words === undefined ? new Failure(0, `Something else answers at this address, with status ${answer.status}.`) : new Failure(answer.status, words)
    }
    return await read(answer)
  } catch (e) {
    if (e instanceof Failure) throw e
    throw new Failure(0, late.aborted ? 'There was no answer in time.' : 'There is no answer.')
  }
}

/** parsed reads JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // YARN's proxy answers with a page of its own while there is no master.
    throw new Failure(0, 'Something else answers at this address.')
  }
}

/** reason returns the text of a refusal, {"errors":["…"]}: all its lines, because a program's error has several. */
export function reason(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as { errors?: string[] }
    const words = body.errors?.join('\n').trim()
    return words === '' ? undefined : words
  } catch {
    return undefined
  }
}
