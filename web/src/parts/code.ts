// Whose code a Go function is. Stacks of failures and flame graphs have the same rule.

export type Owner = 'user' | 'bobbin' | 'go'

const bobbin = 'github.com/bobbin-yarn/bobbin'

/** The first part of the paths of all packages of Go's library. */
const library = new Set(['archive', 'arena', 'bufio', 'builtin', 'bytes', 'cmd', 'cmp', 'compress', 'container', 'context', 'crypto', 'database', 'debug', 'embed',
  'encoding', 'errors', 'expvar', 'flag', 'fmt', 'go', 'hash', 'html', 'image', 'index', 'internal', 'io', 'iter', 'log', 'maps', 'math', 'mime', 'net', 'os', 'path',
  'plugin', 'reflect', 'regexp', 'runtime', 'slices', 'sort', 'strconv', 'strings', 'structs', 'sync', 'syscall', 'testing', 'text', 'time', 'unicode', 'unique',
  'unsafe', 'vendor', 'weak'])

/** packageOf is the path of the package of a function: of "example.org/a/b.(*T[int]).Run(0x1)" it is "example.org/a/b"; of panic it is "". */
export function packageOf(name: string): string {
  const start = name.replace(/^created by /, '').replace(/[([].*$/s, '')
  const folders = start.lastIndexOf('/') + 1
  const dot = start.indexOf('.', folders)
  return dot < 0 ? start.slice(0, folders) : start.slice(0, dot)
}

/** ownerOf tells the user's code, with the modules that it uses, from Bobbin's module and from Go's library. The package main is the user's. */
export function ownerOf(name: string): Owner {
  const path = packageOf(name)
  if (path === bobbin || path.startsWith(`${bobbin}/`)) return 'bobbin'
  return path === '' || library.has(path.split('/', 1)[0]!) ? 'go' : 'user'
}
