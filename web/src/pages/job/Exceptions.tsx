import { hasEnded } from '../../lib/api'
import { clock, plural } from '../../lib/format'
import { usePoll } from '../../lib/poll'
import { archivedLog, href } from '../../lib/route'
import { Panel } from '../../parts/Panel'
import { Empty, View } from '../../parts/States'
import type { TabProps } from './tab'
import type { ExceptionEntry, Exceptions } from './api'
import type { Frame } from './stack'
import { foldFrames, parseFailure, placeShortly, userFrame } from './stack'

/** ExceptionsTab shows why the job failed or restarted, the newest failure first. */
export function ExceptionsTab({ job, history, logs, every }: TabProps) {
  const exceptions = usePoll<Exceptions>(`jobs/${job.jid}/exceptions`, Math.max(every, 5000))
  return (
    <View of={exceptions} what="the exceptions">
      {(e) => {
        const root = e['root-exception']
        const entries = e.exceptionHistory.entries
        if (root === null && entries.length === 0) return <Empty title={hasEnded(job.state) ? 'Nothing has failed.' : 'Nothing has failed so far.'} />
        return (
          <>
            {root !== null && (
              <Panel title="Root cause" note={clock(e.timestamp)}>
                <One text={root} entry={entries.find((one) => one.stacktrace === root || one.timestamp === e.timestamp)} job={job.jid} history={history} logs={logs} open />
              </Panel>
            )}
            {entries.length > 0 && (
              <Panel title="History" note={`${plural(entries.length, 'failure')}, the newest first${e.exceptionHistory.truncated ? '; older ones are not kept' : ''}`}>
                <ol class="failures">
                  {entries.map((entry, i) => (
                    <li key={entries.length - i}>
                      <details>
                        <summary>
                          <span class="num">{clock(entry.timestamp)}</span>
                          <span class="failure-first">{first(entry)}</span>
                          <span class="small muted">{[entry.taskName, entry.location].filter((x) => x !== undefined && x !== '').join(' on ')}</span>
                        </summary>
                        <One text={entry.stacktrace} entry={entry} job={job.jid} history={history} logs={logs} />
                      </details>
                    </li>
                  ))}
                </ol>
              </Panel>
            )}
          </>
        )
      }}
    </View>
  )
}

function first(entry: ExceptionEntry): string {
  const f = parseFailure(entry.stacktrace)
  const frame = userFrame(f)
  return frame ? `${f.message} (${placeShortly(frame.place)})` : f.message
}

/** One is a failure: what happened, where, and the calls, those of the program first to see. */
function One({ text, entry, job, history, logs, open }: { text: string; entry?: ExceptionEntry; job: string; history: boolean; logs: boolean; open?: boolean }) {
  const f = parseFailure(text)
  const frame = userFrame(f)
  return (
    <div class="stack failure">
      <p class={open ? 'failure-message' : 'failure-message failure-small'}>{f.message}</p>
      {frame && <p>In <code>{frame.call}</code> at <code class="failure-place">{frame.place}</code></p>}
      {f.more !== '' && <div class="failure-more" tabIndex={0} role="region" aria-label="More of the message">{f.more}</div>}
      {entry && (
        <p class="small muted">
          {entry.taskName !== undefined && <>Task {entry.taskName}. </>}
          {entry.location !== undefined && entry.location !== '' && <>Host {entry.location}. </>}
          {entry.taskManagerId !== undefined && entry.taskManagerId !== '' && (history
            ? <>Worker {entry.taskManagerId}: {logs ? <a href={archivedLog(job, entry.taskManagerId)}>its log</a> : <>its log is in <code>yarn logs</code> and <code>bobbin logs</code></>}.</>
            : <>Worker <a href={href('workers', entry.taskManagerId, 'logs')}>{entry.taskManagerId}: its logs</a></>)}
        </p>
      )}
      {f.frames.length > 0 && (
        <div class="frames">
          {foldFrames(f.frames).map((g, i) => (g.user
            ? <Frames key={i} frames={g.frames} user />
            : (
              <details key={i} class="frames-folded">
                <summary>{plural(g.frames.length, 'call')} of Bobbin and Go</summary>
                <Frames frames={g.frames} />
              </details>
            )))}
        </div>
      )}
      <details class="frames-folded">
        <summary>The whole text</summary>
        <pre>{text}</pre>
      </details>
    </div>
  )
}

function Frames({ frames, user }: { frames: Frame[]; user?: boolean }) {
  return (
    <ol class={user ? 'frames-user' : 'frames-other'}>
      {frames.map((frame, i) => <li key={i}><code>{frame.call}</code> <span class="frame-place mono">{frame.place}</span></li>)}
    </ol>
  )
}
