// Goroutines by their stacks: most of a process wait at the same place.

export interface Dump {
  threadInfos: { threadName: string; stringifiedThreadInfo: string }[]
}

export interface Group {
  stack: string // without numbers of goroutines and addresses
  count: number
  state: string // of the first: "chan receive"
  longest: number // minutes that one of them has waited; 0: less than one
  top: string // the function in which they are
}

/** group joins goroutines with equal stacks, the largest groups first. Notes at the end of a dump come apart. */
export function group(dump: Dump): { groups: Group[]; notes: string[] } {
  const groups = new Map<string, Group>()
  const notes: string[] = []
  for (const { threadName, stringifiedThreadInfo: text } of dump.threadInfos) {
    if (threadName === '') {
      if (text.trim() !== '') notes.push(text.trim())
      continue
    }
    const [first = '', ...lines] = text.trimEnd().split('\n')
    const state = /\[(.*)\]/.exec(first)?.[1] ?? ''
    const what = state.replace(/, \d+ minutes/, '').replace(/, locked to thread/, '')
    const minutes = Number(/(\d+) minutes/.exec(state)?.[1] ?? 0)
    const stack = lines.map((l) => l.replace(/ \+0x[0-9a-f]+$/, '').replace(/\((0x[0-9a-f]+|\{|\.\.\.|[^()]*0x)[^()]*\)$/, '(…)').replace(/ in goroutine \d+$/, '')).join('\n')
    const key = `${what}\n${stack}`
    const one = groups.get(key)
    if (one) {
      one.count++
      one.longest = Math.max(one.longest, minutes)
    } else {
      groups.set(key, { stack, count: 1, state: what, longest: minutes, top: (lines[0] ?? '').replace(/\([^()]*\)$/, '') })
    }
  }
  return { groups: [...groups.values()].sort((a, b) => b.count - a.count), notes }
}
