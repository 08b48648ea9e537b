import './job.css'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Config } from '../../lib/api'
import { hasEnded } from '../../lib/api'
import { intervalOf } from '../../lib/interval'
import { refreshLast, usePoll, usual } from '../../lib/poll'
import { href } from '../../lib/route'
import { Tabs } from '../../parts/Tabs'
import { AsOf, Broken, Loading, View } from '../../parts/States'
import type { Job, Summaries } from './api'
import { ConfigurationTab } from './Configuration'
import { CountersTab } from './Counters'
import { endsNow, mayHaveFailed, shownOf } from './diagnosis'
import { ExceptionsTab } from './Exceptions'
import { FlamesTab } from './Flames'
import { GraphTab } from './Graph'
import { Head } from './Head'
import { PlanTab } from './Plan'
import { SubtasksTab } from './Subtasks'
import type { TabProps } from './tab'
import { TimelineTab } from './Timeline'
import { Verdict } from './Verdict'

const tabs = [
  { id: 'graph', title: 'Graph', show: GraphTab },
  { id: 'subtasks', title: 'Subtasks', show: SubtasksTab },
  { id: 'timeline', title: 'Time line', show: TimelineTab },
  { id: 'flames', title: 'Flame graph', show: FlamesTab },
  { id: 'exceptions', title: 'Exceptions', show: ExceptionsTab },
  { id: 'counters', title: 'Counters', show: CountersTab },
  { id: 'configuration', title: 'Configuration', show: ConfigurationTab },
  { id: 'plan', title: 'Plan', show: PlanTab },
]

/** Nothing changes in a job that has ended. */
const rarely = 60_000

export function JobPage({ args }: { args: string[] }) {
  const [id = '', tab = 'graph', vertex] = args
  const config = usePoll<Config>('config', rarely)
  const history = config.data?.features['web-history'] === true
  const job = usePoll<Job>(`jobs/${encodeURIComponent(id)}`, intervalOf(config.data, usual))
  // Until it is known what answers, the page would ask a history server for what no archive has.
  if (!config.data && !config.error) return <Loading what="this job" />
  return (
    <View
      of={job}
      what="this job"
      gone={history
        ? <>No archive of it was found. A job appears here when it has ended. <a href={href('overview')}>All jobs</a></>
        : <>It has ended and was dropped, or it never was here. The history server has its archive, if <code>jobmanager.archive.fs.dir</code> is set. <a href={href('overview')}>All jobs</a></>}
    >
      {(data) => <OneJob key={data.jid} job={data} tab={tab} vertex={vertex} history={history} logs={config.data?.features['web-logs'] === true} />}
    </View>
  )
}

/** useLast asks for all parts of a job once more when it has ended: most of them ask rarely from then on. */
function useLast(job: Job, history: boolean) {
  const went = useRef(false)
  const ended = hasEnded(job.state)
  useEffect(() => {
    if (!ended) went.current = true
    else if (!history && endsNow(job, went.current)) return refreshLast(`jobs/${job.jid}`)
  }, [ended, history])
}

function OneJob({ job, tab, vertex, history, logs }: { job: Job; tab: string; vertex?: string; history: boolean; logs: boolean }) {
  const every = hasEnded(job.state) || history ? rarely : usual
  const answer = usePoll<Summaries>(`jobs/${job.jid}/vertices`, every)
  const refused = (answer.error?.status ?? 0) !== 0 && !answer.gone // if the master does not answer at all, the job says so
  const { summaries, slow } = useMemo(() => shownOf(job.state, history, answer.data), [job.state, history, answer.data])
  useLast(job, history)
  const shown = tabs.find((t) => t.id === tab) ?? tabs[0]!
  const known = job.vertices.some((v) => v.id === vertex) ? vertex : undefined
  const props: TabProps = { job, summaries, slow, settled: !answer.loading, vertex: known, history, logs, every }
  return (
    <>
      <Head {...props} />
      <Verdict {...props} tab={shown.id} restarts={answer.data?.restarts ?? 0} troubled={mayHaveFailed(job.state, !answer.loading, answer.data)} />
      {refused && (answer.data ? <AsOf of={answer} /> : <Broken what="what the tasks do now" error={answer.error!} />)}
      <Tabs
        label="Parts of the job"
        current={shown.id}
        tabs={tabs.map((t) => ({ id: t.id, title: t.title, href: href('jobs', job.jid, t.id, ...(known !== undefined ? [known] : [])) }))}
      />
      <shown.show key={shown.id} {...props} />
    </>
  )
}
