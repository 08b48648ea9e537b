// Failures in parts: what happened, and the calls that led to it.
import { ownerOf } from '../../parts/code'

export interface Frame {
  call: string // "main.parseAmount"
  place: string // "example.org/clicks/main.go:58"
  user: boolean // it is code of the program, not of Bobbin or of Go
}

export interface Failure {
  message: string // the first line
  more: string // the lines after it
  frames: Frame[] // the innermost call first
}

const java = /^\s+at ([\w$.<>]+)\((.*)\)$/
const javaFrameworks = /^(org\.apache\.(flink|hadoop)|java\.|jdk\.|sun\.|scala\.)/

/** parseFailure takes a failure apart: a message, and then Go's pairs of lines; or Java's lines, of an archive of Flink. */
export function parseFailure(text: string): Failure {
  const lines = text.split('\n').filter((l) => l.trim() !== '')
  const words: string[] = []
  const frames: Frame[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const next = lines[i + 1]
    const call = java.exec(line)
    if (call) {
      frames.push({ call: call[1]!, place: call[2]!, user: !javaFrameworks.test(call[1]!) })
    } else if (next !== undefined && /^\t(?!at ).*:\d+/.test(next)) {
      frames.push({ call: line.trim(), place: next.trim().replace(/ \+0x[0-9a-f]+$/, ''), user: ownerOf(line.trim()) === 'user' })
      i++
    } else {
      words.push(line)
    }
  }
  return { message: words[0] ?? text, more: words.slice(1).join('\n'), frames }
}

/** userFrame is the innermost call of the program's own code. */
export const userFrame = (f: Failure) => f.frames.find((frame) => frame.user)

/** placeShortly is a place without its folders: "main.go:58". */
export const placeShortly = (place: string) => place.slice(place.lastIndexOf('/') + 1)

/** foldFrames groups frames: the program's stand open, runs of others are folded. */
export function foldFrames(frames: Frame[]): { user: boolean; frames: Frame[] }[] {
  const groups: { user: boolean; frames: Frame[] }[] = []
  for (const f of frames) {
    const last = groups.at(-1)
    if (last && last.user === f.user) last.frames.push(f)
    else groups.push({ user: f.user, frames: [f] })
  }
  return groups
}
