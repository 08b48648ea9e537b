/** split makes arguments of a line: spaces separate them, quotes and backslashes keep them together, as in a shell. */
export function split(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let i = 0; i < line.length; i++) {
    const c = line[i]!
    const escaped = c === '\\' && quote !== "'" && i + 1 < line.length
    if (escaped) {
      word = (word ?? '') + line[++i]
    } else if (quote !== '') {
      if (c === quote) quote = ''
      else word += c
    } else if (c === '"' || c === "'") {
      quote = c
      word ??= ''
    } else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else {
      word = (word ?? '') + c
    }
  }
  if (quote !== '') throw new Error(`The quote ${quote} has no end.`)
  if (word !== undefined) words.push(word)
  return words
}
