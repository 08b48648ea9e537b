// Questions about metrics by their names.

/** Through YARN's proxy a path with its query has at most 600 bytes. The path, maxAge and "get=" take some 150. */
const mostBytes = 400

/** questions returns lists of names for "?get=", each short enough for one request, in the order of the names. */
export function questions(names: string[], most = mostBytes): string[] {
  const lists: string[] = []
  for (const name of names.map(encodeURIComponent)) {
    const last = lists[lists.length - 1]
    if (last !== undefined && last.length + 1 + name.length <= most) lists[lists.length - 1] = `${last},${name}`
    else lists.push(name)
  }
  return lists
}
