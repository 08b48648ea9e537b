import { describe, expect, it, vi } from 'vitest'
import type { JobSummary } from '../../lib/api'
import { clock } from '../../lib/format'
import { toneOf } from '../../parts/Badge'
import { textOf } from '../../parts/rendered'

vi.stubGlobal('document', { hidden: false, addEventListener: () => {} })
const { counts, ordered, Times } = await import('./Jobs')

const job = (jid: string, state: string, began: number) => ({ jid, state, 'start-time': began, 'end-time': -1, duration: 300_000, 'last-modification': began + 300_000, tasks: {} }) as unknown as JobSummary

describe('the list of jobs', () => {
  // The history said "running", "for 5 min" and "1 going on" of a job whose ApplicationMaster was lost days ago.
  it('says of an archive without an end when it was last written', () => {
    const lost = job('a', 'RUNNING', 1_000_000)
    expect(textOf(Times({ job: lost, history: true }))).toContain(`Running when last written, at ${clock(1_300_000)}.`)
    expect(textOf(Times({ job: lost, history: true }))).not.toMatch(/since|for 5 min/)
    expect(textOf(Times({ job: lost, history: false }))).toBe(`for 5 minsince ${clock(1_000_000)}`)
    expect(counts([lost, job('b', 'FINISHED', 1)], true)).toBe('1 without an end, 1 finished')
    expect(counts([lost], false)).toBe('1 going on')
    expect([toneOf('RUNNING', true), toneOf('FAILED', true), toneOf('RUNNING')]).toEqual(['quiet', 'bad', 'run'])
  })

  it('has jobs that go on first, and an archive its newest job', () => {
    const jobs = [job('old', 'RUNNING', 1), job('new', 'FINISHED', 2)]
    expect(ordered(jobs, false).map((j) => j.jid)).toEqual(['old', 'new'])
    expect(ordered(jobs, true).map((j) => j.jid)).toEqual(['new', 'old'])
  })
})
