import { count, duration } from '../../lib/format'
import { usePoll, usePolls } from '../../lib/poll'
import { Chart } from '../../parts/Chart'
import { Panel } from '../../parts/Panel'
import { AsOf, Empty, View } from '../../parts/States'
import '../../parts/Table.css'
import { ratesOf, useSeen, type Metric } from '../../parts/process/history'
import type { Service } from './services'
import { about, pathOf, protocolsOf, serviceOf } from './services'

const path = 'jobmanager/metrics'
const allocate = ['Yarn.allocateLatency_median', 'Yarn.allocateLatency_p99', 'Yarn.allocateFailures', 'openAsks', 'numRegisteredTaskManagers', 'numPendingTaskManagers']

function Row({ service: s }: { service: Service }) {
  return (
    <tr>
      <th scope="row" class="service">{s.name} <span class="muted small">{about[s.name]}</span></th>
      <td class="num">{count(s.calls)}</td>
      <td class={`num ${(s.failures ?? 0) > 0 ? 'service-failed' : ''}`}>{count(s.failures)}</td>
      <td class="num">{duration(s.median)}</td>
      <td class="num">{duration(s.p99)}</td>
      <td class="num">{duration(s.max)}</td>
    </tr>
  )
}

/** Services shows how fast YARN and HDFS answer the master. */
export function Services() {
  const names = usePoll<Metric[]>(path, 60_000)
  const protocols = protocolsOf((names.data ?? []).map((m) => m.id))
  const numbers = usePolls<Metric[]>(protocols.map(pathOf), 4000)
  const seen = useSeen(path, allocate, 4000)
  const values = (name: string) => seen.values.get(name) ?? []
  return (
    <>
      <Panel title="How fast they answer" note="Calls since the start of this attempt; the latencies are those of the last calls.">
        {!names.error && <AsOf of={numbers} />}
        <View of={names} what="the metrics">
          {() => (protocols.length === 0 ? <Empty title="Nothing was called yet." /> : (
              <div class="table-box scroll-x" tabIndex={0} role="region" aria-label="Latencies of Hadoop's protocols">
                <table class="table">
                  <thead>
                    <tr>
                      <th scope="col">Protocol</th>
                      {['Calls', 'Failed', 'Median', '99 %', 'Longest'].map((t) => <th key={t} scope="col" class="num">{t}</th>)}
                    </tr>
                  </thead>
                  <tbody>{protocols.map((p, i) => <Row key={p} service={serviceOf(p, numbers[i]?.data ?? [])} />)}</tbody>
                </table>
              </div>
            ))}
        </View>
      </Panel>
      <Panel title="Containers">
        <AsOf of={seen.polled} />
        <div class="charts">
          <Chart title="Answers of the ResourceManager to allocate" times={seen.times} format={duration} series={[
            { name: 'median', tone: 'c1', values: values('Yarn.allocateLatency_median') }, { name: '99 %', tone: 'c2', values: values('Yarn.allocateLatency_p99') },
          ]} />
          <Chart title="Workers" times={seen.times} format={(n) => (Number.isInteger(n) ? count(n) : '')} series={[
            { name: 'registered', tone: 'run', values: values('numRegisteredTaskManagers') }, { name: 'pending', tone: 'warn', values: values('numPendingTaskManagers') },
            { name: 'asks open', tone: 'c4', values: values('openAsks') },
          ]} />
          <Chart title="Allocate calls that failed" times={seen.times} format={(n) => `${n.toFixed(1)}/s`} series={[{ name: 'failed', tone: 'bad', values: ratesOf(seen.times, values('Yarn.allocateFailures')) }]} />
        </div>
      </Panel>
    </>
  )
}
