import type { ComponentChildren } from 'preact'
import { href } from '../../lib/route'
import { FlameGraph } from '../FlameGraph'
import { Panel } from '../Panel'
import { Empty } from '../States'
import { Tabs } from '../Tabs'
import { Goroutines } from './Goroutines'
import { LogFile, LogFiles } from './Logs'
import { ProcessCharts } from './Metrics'

/** A tab that only this kind of process has. */
export interface OwnTab {
  id: string
  title: string
  show: () => ComponentChildren
}

interface Props {
  what: string // "the worker"
  page: string // its route, with args
  args: string[]
  base: string // its path in REST
  tab?: string
  file?: string // the log that is shown
  own: OwnTab[]
  notes?: { metrics?: string; logs?: string }
  /** Lets the reader choose a process of several; '' is the process itself. */
  choose?: (show: (host: string) => ComponentChildren) => ComponentChildren
}

/** Process shows the tabs of the master or of a worker: what all processes have, and what only this one has. */
export function Process(props: Props) {
  const { what, page, args, own, tab = 'metrics' } = props
  const tabs = [
    { id: 'metrics', title: 'Metrics' }, ...own, { id: 'logs', title: 'Logs' }, { id: 'stdout', title: 'Stdout' },
    { id: 'goroutines', title: 'Goroutines' }, { id: 'flames', title: 'Flame graphs' },
  ]
  return (
    <>
      <Tabs label={`Parts of ${what}`} current={tab} tabs={tabs.map(({ id, title }) => ({ id, title, href: href(page, ...args, id) }))} />
      {own.find((t) => t.id === tab)?.show() ?? <Common {...props} tab={tab} />}
    </>
  )
}

function Common({ what, page, args, base, tab, file, notes = {}, choose = (show) => show('') }: Props) {
  switch (tab) {
    case 'metrics': return <Panel title="What the process uses" note={notes.metrics}><ProcessCharts path={`${base}/metrics`} /></Panel>
    case 'logs':
      return file === undefined
        ? <Panel title="Logs" note={notes.logs}><LogFiles base={base} page={page} args={[...args, 'logs']} /></Panel>
        : <Panel title={file} actions={<a href={href(page, ...args, 'logs')}>All logs</a>}><LogFile key={file} path={`${base}/logs/${encodeURIComponent(file)}`} name={file} /></Panel>
    case 'stdout': return <Panel title="Standard output"><LogFile path={`${base}/stdout`} name="standard output" /></Panel>
    case 'goroutines': return <Panel title="Goroutines">{choose((host) => <Goroutines key={host} path={`${base}/thread-dump${of('?', host)}`} />)}</Panel>
    case 'flames': return (
      <Panel title="Flame graphs">
        {choose((host) => (
          <FlameGraph key={host} what={host === '' ? what : 'this process'} option="rest.profiling.enabled" choices={[
            { title: 'Processor time', path: `${base}/flamegraph?kind=cpu${of('&', host)}` }, { title: 'Heap', path: `${base}/flamegraph?kind=heap${of('&', host)}` },
          ]} />
        ))}
      </Panel>
    )
    default: return <Empty title={`There is no such part of ${what}.`} />
  }
}

const of = (before: string, host: string) => (host === '' ? '' : `${before}host=${encodeURIComponent(host)}`)
