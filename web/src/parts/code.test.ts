import { describe, expect, it } from 'vitest'
import { ownerOf, packageOf } from './code'

describe('whose code a function is', () => {
  it('is told by its package', () => {
    for (const [name, path] of [
      ['main.parseAmount', 'main'],
      ['main.(*T).Run', 'main'],
      ['main.init.func1.1.1', 'main'],
      ['encoding/json.(*Decoder).Decode', 'encoding/json'],
      ['example.org/clicks/v2.Parse', 'example.org/clicks/v2'],
      ['example.org/a.Map[github.com/c/d.E,[]uint8].func1', 'example.org/a'],
      ['slices.SortFunc[go.shape.[]main.X]', 'slices'],
      ['gopkg.in/yaml%2ev3.Unmarshal', 'gopkg.in/yaml%2ev3'],
      ['created by main.main in goroutine 1', 'main'],
      ['panic({0x4d0b40, 0x58e2f8})', ''],
    ]) expect(packageOf(name!)).toBe(path)
  })
  it('is the user’s, unless it is Bobbin’s module or Go’s library', () => {
    const owners = (...names: string[]) => names.map(ownerOf)
    expect(owners('main.work', 'main.Map[strings.Builder]', 'example.org/clicks.Parse', 'clicks/parse.Line', 'github.com/bobbin-yarn/bobbins.F', 'timer.F')).toEqual(Array(6).fill('user'))
    expect(owners('strconv.Atoi', 'strings.Map', 'encoding/json.Unmarshal', 'net/http.(*Client).Do', 'runtime.gopark', 'internal/runtime/syscall.Syscall6', 'panic(0x1)', 'vendor/golang.org/x/net/dns.F'))
      .toEqual(Array(8).fill('go'))
    expect(owners('github.com/bobbin-yarn/bobbin.Map[main.E].func1', 'github.com/bobbin-yarn/bobbin/dataflow.task.feed')).toEqual(['bobbin', 'bobbin'])
  })
})
