import './Tabs.css'

import { useEffect, useRef } from 'preact/hooks'

export interface Tab {
  id: string
  title: string
  href: string
  count?: number | string
}

/** Tabs are links to the parts of a page; each part has a route. */
export function Tabs({ label, tabs, current }: { label: string; tabs: Tab[]; current: string }) {
  const box = useRef<HTMLElement>(null)
  useEffect(() => {
    // A phone shows some of the tabs.
    const nav = box.current
    const tab = nav?.querySelector<HTMLElement>('[aria-current]')
    if (nav && tab) nav.scrollLeft = tab.offsetLeft - nav.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2
  }, [current])
  return (
    <nav ref={box} class="tabs" aria-label={label}>
      {tabs.map((t) => (
        <a key={t.id} href={t.href} aria-current={t.id === current ? 'page' : undefined}>
          {t.title}
          {t.count !== undefined && <span class="tabs-count">{t.count}</span>}
        </a>
      ))}
    </nav>
  )
}
