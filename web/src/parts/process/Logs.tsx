import './process.css'
import { useEffect, useState } from 'preact/hooks'
import { bytes, clock } from '../../lib/format'
import { ask, Failure } from '../../lib/ask'
import { pause } from '../../lib/pause'
import { usePoll } from '../../lib/poll'
import { href } from '../../lib/route'
import { AsOf, Broken, Empty, Loading, View } from '../States'
import { Table } from '../Table'
import { all, append, firstPart, noLog, type Log } from './logs'
import { Text } from './Text'

interface LogList {
  logs: { name: string; size: number; mtime: number }[]
}

/** LogFiles lists the logs of a process. page and args are the route to which the name of a log is added. */
export function LogFiles({ base, page, args }: { base: string; page: string; args: string[] }) {
  const logs = usePoll<LogList>(`${base}/logs`, 5000)
  return (
    <View of={logs} what="the list of logs">
      {({ logs }) => logs.length === 0 ? <Empty title="The process has no log files." /> : (
        <Table
          caption="Log files"
          rows={logs}
          id={(l) => l.name}
          sort={{ by: 'written', down: true }}
          columns={[
            { id: 'name', title: 'File', value: (l) => l.name, cell: (l) => <a href={href(page, ...args, l.name)}><code>{l.name}</code></a> },
            { id: 'size', title: 'Size', number: true, value: (l) => l.size, cell: (l) => bytes(l.size) },
            { id: 'written', title: 'Last written', number: true, value: (l) => l.mtime, cell: (l) => clock(l.mtime) },
            { id: 'whole', title: 'Whole file', cell: (l) => <a href={`${base}/logs/${encodeURIComponent(l.name)}`}>open</a> },
          ]}
        />
      )}
    </View>
  )
}

interface Followed {
  log?: Log
  error?: Failure
  at?: number // of the last answer
}

const everyMs = 3000

/** useFollowed reads the end of a file, and then what is written, as far as the tab is seen. */
function useFollowed(path: string, on: boolean): Followed {
  const [state, set] = useState<Followed>({})
  useEffect(() => {
    set({})
  }, [path])
  useEffect(() => {
    if (!on) return
    let stopped = false
    let timer = 0
    let next = `offset=-${firstPart}`
    let log = noLog
    const decoder = new TextDecoder()
    const asking = new AbortController()
    let failures = 0
    const read = async () => {
      const begun = Date.now()
      if (!document.hidden) {
        try {
          const part = await ask(`${path}?${next}`, { signal: asking.signal, headers: { Accept: '*/*' } }, async (answer) => ({ head: answer.headers, bytes: await answer.arrayBuffer() }))
          if (!part.head.has('Bobbin-Next')) throw new Failure(0, 'Something else answers at this address.')
          let text = decoder.decode(part.bytes, { stream: true })
          const offset = Number(part.head.get('Bobbin-Offset') ?? 0)
          if (log === noLog && offset > 0) text = text.slice(text.indexOf('\n') + 1) // half a line
          log = append(log === noLog ? { ...noLog, cut: offset > 0 } : log, text)
          const file = part.head.get('Bobbin-File')
          const onwards = part.head.get('Bobbin-Next') ?? '0'
          next = file ? `offset=${onwards}&file=${file}` : `offset=${onwards}`
          failures = 0
          if (!stopped) set({ log, at: Date.now() })
        } catch (e) {
          if (stopped) return
          failures++
          const error = e instanceof Failure ? e : new Failure(0, String(e))
          set((before) => ({ ...before, error }))
        }
      }
      if (!stopped) timer = window.setTimeout(() => void read(), Math.max(0, begun + pause(everyMs, Date.now() - begun, failures) - Date.now()))
    }
    void read()
    return () => {
      stopped = true
      asking.abort()
      clearTimeout(timer)
    }
  }, [path, on])
  return state
}

/** LogFile follows one log. path is that of REST. */
export function LogFile({ path, name }: { path: string; name: string }) {
  const [following, follow] = useState(true)
  const { log, error, at } = useFollowed(path, following)
  if (!log) return error ? (error.status === 404 ? <Empty title={`The process has no ${name}.`}>It is made when something is written to it.</Empty> : <Broken what={name} error={error} />) : <Loading what={name} />
  return (
    <>
      <AsOf of={{ staleSince: error && at, error, loading: false, gone: false }} />
      {log.size === 0 && log.rest === '' ? <Empty title={`${name} is empty.`} /> : (
        <Text lines={all(log)} name={name} follow={following} onFollow={follow} note={log.cut ? <>Older lines are in the <a href={path}>whole file</a>.</> : <a href={path}>Whole file</a>} />
      )}
    </>
  )
}
