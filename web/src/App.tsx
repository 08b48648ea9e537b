import { useEffect } from 'preact/hooks'
import type { Config } from './lib/api'
import { usePoll } from './lib/poll'
import { href, useRoute } from './lib/route'
import { OverviewPage } from './pages/overview'
import { SessionPage } from './pages/session'
import { JobPage } from './pages/job'
import { WorkersPage } from './pages/workers'
import { MasterPage } from './pages/master'
import { Away, Live } from './parts/Presence'
import { Empty } from './parts/States'

const pages = {
  overview: { title: 'Overview', show: OverviewPage },
  jobs: { title: 'Job', show: JobPage },
  session: { title: 'Session', show: SessionPage },
  workers: { title: 'Workers', show: WorkersPage },
  master: { title: 'Master', show: MasterPage },
}

const isPage = (name: string): name is keyof typeof pages => Object.hasOwn(pages, name)

/** App is the frame around all pages. */
export function App() {
  const { page, args } = useRoute()
  const config = usePoll<Config>('config', 60_000)
  const history = config.data?.features['web-history'] === true
  const known = isPage(page) ? pages[page] : undefined
  // Only a session takes programs; another application has the same page for its own end.
  const alone = config.data !== undefined && config.data.features['web-submit'] !== true
  const titleOf = (name: keyof typeof pages) => (name === 'session' && alone ? 'Application' : pages[name].title)
  const title = isPage(page) ? titleOf(page) : 'Bobbin'
  useEffect(() => {
    document.title = title === 'Bobbin' ? title : `${title} · Bobbin`
  }, [title])
  const links: (keyof typeof pages)[] = history ? ['overview'] : ['overview', 'session', 'workers', 'master']
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById('main')?.focus() }}>To the content</a>
      <header class="top">
        <div class="top-in">
          <a class="brand" href={href('overview')}><Logo />Bobbin</a>
          <nav class="nav" aria-label="Pages">
            {links.map((name) => (
              <a key={name} href={href(name)} aria-current={name === page || (name === 'overview' && page === 'jobs') ? 'page' : undefined}>{titleOf(name)}</a>
            ))}
          </nav>
          <Live />
        </div>
      </header>
      <main id="main" class="page" tabIndex={-1}>
        <Away />
        {known ? <known.show key={page} args={args} /> : <Empty title="There is no such page."><a href={href('overview')}>To the overview</a></Empty>}
      </main>
    </>
  )
}

function Logo() {
  return (
    <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M3 2h10v2H3zM3 12h10v2H3z" fill="var(--accent)" />
      <path d="M4 5h8v1.6H4zM4 7.2h8v1.6H4zM4 9.4h8V11H4z" fill="var(--busy)" />
    </svg>
  )
}
