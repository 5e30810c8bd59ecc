import { describe, expect, it } from 'vitest'
import { batchCommandLine, findOnWindows } from '../../hosts/command/start-command.ts'

describe('a command on Windows', () => {
  const there =
    (...files: string[]) =>
    (file: string) =>
      files.includes(file)
  const env = { PATH: 'C:\\Program Files\\nodejs;C:\\npm', PATHEXT: '.EXE;.CMD' }

  it('is looked for along PATH, with the extensions of PATHEXT', () => {
    expect(findOnWindows('claude', env, there('C:\\npm\\claude', 'C:\\npm\\claude.CMD'))).toBe('C:\\npm\\claude.CMD')
    expect(findOnWindows('claude.exe', env, there('C:\\npm\\claude.exe'))).toBe('C:\\npm\\claude.exe')
    expect(findOnWindows('C:\\my tools\\claude', env, there('C:\\my tools\\claude.EXE'))).toBe(
      'C:\\my tools\\claude.EXE',
    )
    expect(findOnWindows('claude', env, there())).toBe(null)
  })

  // What a program must get from cmd.exe, which takes carets off twice: for /c, and where npm's batch file says %*.
  const readByCmd = (text: string) => text.replace(/\^(.)/gs, '$1')
  it.each(['plain', 'two words', 'a "quoted" one', 'C:\\path\\', '100% & more | > ^', ''])(
    'hands a batch file the argument %j',
    (argument) => {
      const line = batchCommandLine('C:\\my tools\\claude.cmd', [argument])
      expect(line).not.toMatch(/(?<!\^)[&|<>]/)
      const [, passed] = /^C:\\my tools\\claude\.cmd (.*)$/s.exec(readByCmd(readByCmd(line))) ?? []
      const unquoted = passed?.slice(1, -1).replace(/(\\+)$/, (all) => all.slice(all.length / 2))
      expect(unquoted?.replaceAll('\\"', '"')).toBe(argument)
    },
  )
})
