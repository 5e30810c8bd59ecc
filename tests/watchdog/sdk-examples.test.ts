/** The examples, as programs with the real SDKs, against a provider on loopback that follows a script. */

import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { installPackages } from '../setup/npm-packages.ts'
import { ExampleProject } from './example-project.ts'
import {
  begin,
  call,
  close,
  hang,
  keepAlive,
  refuse,
  type Step,
  say,
  send,
  startLoopbackProvider,
} from './loopback-provider.ts'

const installed = await installPackages('tests/wires')

const EXAMPLES = ['openai', 'anthropic', 'ai-sdk', 'ai-sdk-fetch'] as const
type Example = (typeof EXAMPLES)[number]

/** Where an example says that it waited for the response alone. */
const WITH_HEADERS: readonly Example[] = ['openai', 'ai-sdk-fetch']

describe.skipIf(!installed)('the examples', () => {
  const project = new ExampleProject()
  afterAll(() => project.remove())

  async function start(example: Example, env: Record<string, string>, ...scripts: readonly (readonly Step[])[]) {
    const provider = await startLoopbackProvider(...scripts)
    const run = project.run(example, {
      OPENAI_API_KEY: 'key',
      OPENAI_BASE_URL: `${provider.url}/v1`,
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: provider.url,
      AI_GATEWAY_API_KEY: 'key',
      AI_GATEWAY_URL: provider.url,
      ...env,
    })
    onTestFinished(async () => {
      run.child.kill('SIGKILL')
      await run.exited
      await provider[Symbol.asyncDispose]()
    })
    /** How the first so many requests ended, which are all. */
    const ended = async (count: number) => {
      const all = await Promise.all(Array.from({ length: count }, (_, i) => provider.ended(i + 1)))
      expect(provider.requests.length).toBe(count)
      return all
    }
    return { ...run, provider, ended }
  }

  it('compile in a strict project', () => {
    expect(project.compile()).toBe('')
  })

  describe.each(EXAMPLES)('%s', (example) => {
    it('answers over two turns, with a tool between them that takes longer than any silence may', async () => {
      const { exited, stdout, stderr, provider, ended } = await start(
        example,
        { CONTENT_INTERVAL_MS: '800' },
        [begin, say('Let me look. '), call('weather', { place: 'Paris' })],
        [begin, say('It rains '), say('in Paris.')],
      )
      expect([await exited, stderr(), stdout()]).toEqual([0, '', 'Let me look. It rains in Paris.'])
      expect(await ended(2)).toEqual(['served', 'served'])
      expect(JSON.stringify(provider.requests[1]?.body)).toContain('rain in Paris')
    })

    it('asks again where a stream has no content, whatever keeps it alive, and the first request is closed', async () => {
      const { exited, stdout, stderr, ended } = await start(
        example,
        { FIRST_CONTENT_MS: '1000' },
        [begin, keepAlive(50)],
        [begin, say('At last.')],
      )
      expect([await exited, stdout()]).toEqual([0, 'At last.'])
      expect(stderr()).toMatch(/^stream stalled: no content within 1000 ms \(firstContentMs\), after .*; try 2\n$/)
      expect(await ended(2)).toEqual(['left', 'served'])
    })

    it('asks again where not even a response comes', async () => {
      const { exited, stdout, stderr, ended } = await start(
        example,
        { FIRST_CONTENT_MS: '1500', HEADERS_MS: '1000' },
        [hang],
        [begin, say('At last.')],
      )
      expect([await exited, stdout()]).toEqual([0, 'At last.'])
      const what = WITH_HEADERS.includes(example)
        ? 'no response within 1000 ms (headersMs)'
        : 'no content within 1500 ms (firstContentMs)'
      expect(stderr()).toContain(`stream stalled: ${what}`)
      expect(await ended(2)).toEqual(['left', 'served'])
    })

    it('says that the stream stalled where it does so in every try', async () => {
      const { exited, stdout, stderr, ended } = await start(example, { FIRST_CONTENT_MS: '600' }, [begin, hang])
      expect([await exited, stdout()]).toEqual([1, ''])
      expect(stderr()).toMatch(/\nstream stalled: no content within 600 ms \(firstContentMs\) in try 2, after .*\n$/)
      // The AI SDK has a try of its own around those of its `fetch`.
      const requests = example === 'ai-sdk-fetch' ? 4 : 2
      expect(await ended(requests)).toEqual(Array(requests).fill('left'))
    })

    it('keeps what was said where the stream stalls in the middle of an answer, and closes its request', async () => {
      const { exited, stdout, stderr, ended } = await start(example, { CONTENT_INTERVAL_MS: '600' }, [
        begin,
        say('Half '),
        say('an answer'),
        keepAlive(50),
      ])
      expect([await exited, stdout()]).toEqual([1, 'Half an answer'])
      expect(stderr()).toMatch(/^\nstream stalled: no more content within 600 ms \(contentIntervalMs\), after .*\n$/)
      expect(await ended(1)).toEqual(['left'])
    })

    it('stops when it is told to in the middle of an answer: that is no stall', async () => {
      const { child, exited, stdout, stderr, ended } = await start(example, {}, [begin, say('Half'), keepAlive(50)])
      await expect.poll(stdout, { timeout: 30_000 }).toBe('Half')
      child.kill('SIGINT')
      expect([await exited, stdout(), stderr()]).toEqual([1, 'Half', '\nError: stopped by hand\n'])
      expect(await ended(1)).toEqual(['left'])
    })

    it('stops when it is told to before there is anything', async () => {
      const { child, exited, stdout, stderr, provider, ended } = await start(example, {}, [hang])
      await expect.poll(() => provider.requests.length, { timeout: 30_000 }).toBe(1)
      child.kill('SIGINT')
      expect([await exited, stdout(), stderr()]).toEqual([1, '', '\nError: stopped by hand\n'])
      expect(await ended(1)).toEqual(['left'])
    })

    it('leaves errors of HTTP to the SDK, which asks again after them', async () => {
      const { exited, stdout, stderr, ended } = await start(example, {}, [refuse(500)], [begin, say('All is well.')])
      expect([await exited, stdout(), stderr()]).toEqual([0, 'All is well.', ''])
      expect(await ended(2)).toEqual(['refused', 'served'])
    })
  })

  it('openai says what the server said of its failure, and asks once', async () => {
    const error = { code: 'server_error', message: 'out of luck' }
    const response = { id: 'resp', object: 'response', status: 'failed', output: [], error }
    const { exited, stdout, stderr, ended } = await start('openai', {}, [
      begin,
      say('Half'),
      send('response.failed', { response }),
      close,
    ])
    expect([await exited, stdout()]).toEqual([1, 'Half'])
    expect(stderr()).toBe('\nthe model failed: server_error, stream failed: server_error: out of luck\n')
    expect(await ended(1)).toEqual(['served'])
  })

  it('anthropic says what the SDK throws of the failure of the server, and asks once', async () => {
    const error = { type: 'overloaded_error', message: 'too many' }
    const { exited, stdout, stderr, ended } = await start('anthropic', {}, [
      begin,
      say('Half'),
      send('error', { error }),
      close,
    ])
    expect([await exited, stdout()]).toEqual([1, 'Half'])
    expect(stderr()).toContain('overloaded_error')
    expect(stderr()).not.toContain('stalled')
    expect(await ended(1)).toEqual(['served'])
  })
})
