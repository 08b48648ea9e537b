import './Meter.css'

export interface Part {
  value: number
  tone: string // the name of a colour of tokens.css: "busy", "good", "c1"
  name: string
}

interface Props {
  label: string // for those who cannot see it: "Memory"
  max: number
  value?: number // one part
  parts?: Part[] // or several, beside each other
  tone?: string // of value
  text?: string // shown beside the bar
}

/** Meter is a bar with its text. */
export function Meter({ label, max, value = 0, parts, tone = 'accent', text }: Props) {
  const all = parts ?? [{ value, tone, name: label }]
  const sum = all.reduce((n, p) => n + p.value, 0)
  return (
    <span class="meter">
      <span class="meter-bar" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={Math.min(sum, max)} aria-valuetext={text}>
        {all.map((p) => (
          <span key={p.name} class="meter-part" title={p.name} style={{ width: `${max > 0 ? (100 * p.value) / Math.max(max, sum) : 0}%`, background: `var(--${p.tone})` }} />
        ))}
      </span>
      {text !== undefined && <span class="meter-text">{text}</span>}
    </span>
  )
}
