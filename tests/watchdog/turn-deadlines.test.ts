/** The loop of an agent over real HTTP: `fetch`, server-sent events, and a provider that follows a script. */

import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type Attempt,
  StreamFailedError,
  StreamStalledError,
  type TurnDeadlinesOptions,
  turnDeadlines,
} from '../../detector/watchdog/index.ts'
import {
  begin,
  close,
  hang,
  keepAlive,
  refuse,
  type Step,
  say,
  send,
  startLoopbackProvider,
  wait,
} from './loopback-provider.ts'
import { all, counted, settling } from './tries.ts'
import { settle } from './virtual-clock.ts'

const deadlines = { source: 'openai-responses', firstContentMs: 500, contentIntervalMs: 500 } as const

async function provider(...scripts: readonly (readonly Step[])[]) {
  const started = await startLoopbackProvider(...scripts)
  onTestFinished(() => started[Symbol.asyncDispose]())
  const ask = ({ signal }: Pick<Attempt, 'signal'>) =>
    fetch(`${started.url}/v1/responses`, { method: 'POST', body: '{"model":"m","stream":true}', signal })
  return { ...started, ask }
}

/** The text of an answer as it came, and the error that ended it. */
async function textOf(response: Response): Promise<{ text: string; error: unknown }> {
  const read = { text: '', error: undefined as unknown }
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      for (const [, event] of decoder.decode(chunk, { stream: true }).matchAll(/^data: (.*)$/gm)) {
        const { type, delta } = JSON.parse(event as string)
        if (type === 'response.output_text.delta') read.text += delta
      }
    }
  } catch (error) {
    read.error = error
  }
  return read
}

describe('a turn', () => {
  it('rejects when nothing of an answer comes: one request, whose signal is aborted and whose connection is closed', async () => {
    const { ask, requests, ended } = await provider([begin, hang])
    const signals: AbortSignal[] = []
    const turn = turnDeadlines(deadlines).next()
    const response = await turn.call((attempt) => {
      signals.push(attempt.signal)
      return ask(attempt)
    })
    const { text, error } = await textOf(response)
    expect(error).toBeInstanceOf(StreamStalledError)
    expect(error).toMatchObject({ phase: 'first_content', timeoutMs: 500, retryable: true })
    expect(text).toBe('')
    expect(signals.map(({ reason }) => reason)).toEqual([error])
    expect(turn.signal.reason).toBe(error)
    expect(await ended(1)).toBe('left')
    expect(requests.length).toBe(1)
  })

  it('is kept alive by no comment', async () => {
    const { ask, ended } = await provider([begin, keepAlive(50)])
    const started = performance.now()
    const { error } = await textOf(await turnDeadlines(deadlines).next().call(ask))
    expect(error).toMatchObject({ phase: 'first_content', retryable: true })
    expect(performance.now() - started).toBeGreaterThan(490)
    expect(await ended(1)).toBe('left')
  })

  it('passes within its deadlines, and its request is not aborted', async () => {
    const { ask, ended } = await provider([begin, wait(50), say('all '), wait(50), say('is well')])
    const turn = turnDeadlines(deadlines).next()
    expect(await textOf(await turn.call(ask))).toEqual({ text: 'all is well', error: undefined })
    expect(turn.signal.aborted).toBe(false)
    expect(await ended(1)).toBe('served')
  })

  it('without any deadline has the very response that the request gave', async () => {
    const { ask } = await provider([say('all is well')])
    let given: Response | undefined
    const response = await turnDeadlines()
      .next()
      .call(async (attempt) => {
        given = await ask(attempt)
        return given
      })
    expect(response).toBe(given)
    expect(await textOf(response)).toEqual({ text: 'all is well', error: undefined })
  })

  it('that stalls in the middle of its answer says so, with what had been delivered, and closes the request', async () => {
    const { ask, ended } = await provider([say('half '), wait(20), say('an answer'), keepAlive(50)])
    const turn = turnDeadlines(deadlines).next()
    const { text, error } = await textOf(await turn.call(ask))
    expect(text).toBe('half an answer')
    expect(error).toMatchObject({
      phase: 'between_content',
      timeoutMs: 500,
      receivedAnyContent: true,
      retryable: false,
      setting: 'contentIntervalMs',
      lastEventType: 'response.output_text.delta',
      attempt: 1,
    })
    expect((error as StreamStalledError).elapsedMs).toBeGreaterThanOrEqual(500)
    expect(turn.signal.reason).toBe(error)
    expect(await ended(1)).toBe('left')
  })

  it('gives two consumers that share its stream the same error', async () => {
    const { ask } = await provider([say('half'), hang])
    const turn = turnDeadlines(deadlines).next()
    const { body } = await turn.call(ask)
    const shared = turn.share(body as ReadableStream<Uint8Array>)
    const results = await Promise.allSettled([all(shared), all(shared)])
    const late = await all(shared).catch((error: unknown) => error)
    const errors = results.map((result) => (result.status === 'rejected' ? result.reason : null))
    expect(errors[0]).toBeInstanceOf(StreamStalledError)
    expect([errors[1], late]).toEqual([errors[0], errors[0]])
    expect([errors[1] === errors[0], late === errors[0]]).toEqual([true, true])
  })

  it("ends with the caller's own reason when the caller aborts, and that is no stall", async () => {
    const { ask, ended } = await provider([say('half'), hang])
    const caller = new AbortController()
    const turn = turnDeadlines({ ...deadlines, signal: caller.signal }).next()
    const read = settling(textOf(await turn.call(ask)))
    const reason = new Error('the user pressed stop')
    caller.abort(reason)
    expect(await ended(1)).toBe('left')
    await expect.poll(() => read.outcome).toBe('resolved')
    expect(read.value?.error).toBe(reason)
    expect(turn.signal.reason).toBe(reason)
  })

  it('keeps the reason of whichever aborts first', async () => {
    const { ask } = await provider([begin, hang])
    const caller = new AbortController()
    const turns = turnDeadlines({ ...deadlines, signal: caller.signal })
    const [stalled, stopped] = [turns.next(), turns.next()]
    const { error } = await textOf(await stalled.call(ask))
    const reason = new Error('the user pressed stop')
    caller.abort(reason)
    expect(stalled.signal.reason).toBe(error)
    expect(error).toBeInstanceOf(StreamStalledError)
    expect(stopped.signal.reason).toBe(reason)
  })

  it('is over before it begins where the caller has aborted', async () => {
    const reason = new Error('over')
    const turn = turnDeadlines({ ...deadlines, signal: AbortSignal.abort(reason) }).next()
    expect(turn.signal.reason).toBe(reason)
    let asked = 0
    await expect(turn.call(() => ++asked)).rejects.toBe(reason)
    expect(asked).toBe(0)
  })

  it("ends with the caller's own reason while it waits for the response", async () => {
    const { ask, requests, ended } = await provider([hang])
    const caller = new AbortController()
    const turn = turnDeadlines({ ...deadlines, headersMs: 60_000, signal: caller.signal }).next()
    const call = settling(turn.call(ask))
    await expect.poll(() => requests.length).toBe(1)
    const reason = { why: 'the tab was closed' }
    caller.abort(reason)
    await settle()
    expect(call.error).toBe(reason)
    expect(await ended(1)).toBe('left')
  })

  it('whose response never comes says that', async () => {
    const { ask, ended } = await provider([hang])
    const turn = turnDeadlines({ ...deadlines, headersMs: 300 }).next()
    const error = await turn.call(ask).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'StreamStalledError', phase: 'headers', deliveredEvents: 0, retryable: true })
    expect(turn.signal.reason).toBe(error)
    expect(await ended(1)).toBe('left')
  })

  it('is issued again when it stalls before content: two requests, of which only the first is aborted', async () => {
    const { ask, requests, ended } = await provider([begin, keepAlive(50)], [say('at last')])
    const turn = turnDeadlines({ ...deadlines, maxStallRetries: 1, backoff: 0 }).next()
    expect(await textOf(await turn.call(ask))).toEqual({ text: 'at last', error: undefined })
    expect([await ended(1), await ended(2), requests.length]).toEqual(['left', 'served', 2])
    expect(turn.signal.aborted).toBe(false)
  })

  it('is issued again when its response does not come', async () => {
    const { ask, requests, ended } = await provider([hang], [say('at last')])
    const turn = turnDeadlines({ ...deadlines, headersMs: 300, maxStallRetries: 1, backoff: 0 }).next()
    expect((await textOf(await turn.call(ask))).text).toBe('at last')
    expect([await ended(1), requests.length]).toEqual(['left', 2])
  })

  it('that the server says has failed throws what it said, and is not issued again', async () => {
    const response = { id: 'r', status: 'failed', error: { code: 'rate_limit_exceeded', message: 'slow down' } }
    const { ask, requests } = await provider([send('response.failed', { response }), close])
    const turn = turnDeadlines({ ...deadlines, maxStallRetries: 3, backoff: 0 }).next()
    const { error } = await textOf(await turn.call(ask))
    expect(error).toBeInstanceOf(StreamFailedError)
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', retryable: true, response: { status: 'failed' } })
    expect((error as Error).message).toContain('slow down')
    expect(requests.length).toBe(1)
  })

  it('whose server reports an error and then completes the answer has no error', async () => {
    const { ask } = await provider([send('error', { code: 'server_error', message: 'a hiccup' }), say('all is well')])
    const { text, error } = await textOf(await turnDeadlines(deadlines).next().call(ask))
    expect([text, error]).toEqual(['all is well', undefined])
  })

  it('that is refused has the refusal, once', async () => {
    const { ask, requests } = await provider([refuse(503)])
    const turn = turnDeadlines({ ...deadlines, maxStallRetries: 3, backoff: 0 }).next()
    const response = await turn.call(ask)
    expect([response.status, await response.json()]).toEqual([
      503,
      { error: { message: 'scripted 503', type: 'invalid_request_error', code: null } },
    ])
    expect(requests.length).toBe(1)
  })

  it('whose reply does not stream has it as it is, however long its body takes', async () => {
    const reply = new Response(
      new ReadableStream({
        async start(controller) {
          await new Promise((resolve) => setTimeout(resolve, 700))
          controller.enqueue(new TextEncoder().encode('{"output":"whole"}'))
          controller.close()
        },
      }),
      { headers: { 'content-type': 'application/json' } },
    )
    const turn = turnDeadlines({ ...deadlines, maxStallRetries: 1 }).next()
    const response = await turn.call(() => reply)
    expect(response).toBe(reply)
    expect(await response.json()).toEqual({ output: 'whole' })
    const plain = { output: 'whole' }
    expect(
      await turnDeadlines({ ...deadlines, headersMs: 100 })
        .next()
        .call(async () => plain),
    ).toBe(plain)
  })

  it('lets go of the caller when it is disposed of, however it ended', async () => {
    const { ask } = await provider([say('all is well')])
    const { signal } = new AbortController()
    const listeners = counted(signal)
    const turns = turnDeadlines({ ...deadlines, signal })
    {
      using turn = turns.next()
      expect((await textOf(await turn.call(ask))).text).toBe('all is well')
      expect(listeners()).toBeGreaterThan(0)
    }
    expect(listeners()).toBe(0)
    const failed = async () => {
      using turn = turns.next()
      await turn.call(() => Promise.reject(new Error('refused')))
    }
    await expect(failed()).rejects.toThrow('refused')
    expect(listeners()).toBe(0)
  })
})

describe('the turns of a loop', () => {
  it('have fresh deadlines each: the first takes longer in all and passes, the second stalls, and only that is aborted', async () => {
    const slow = Array.from({ length: 4 }, (_, i) => [wait(200), say(`${i}`)]).flat()
    const { ask, ended } = await provider([begin, ...slow], [begin, hang])
    const turns = turnDeadlines(deadlines)
    const [first, second] = [turns.next(), turns.next()]
    const started = performance.now()
    expect(await textOf(await first.call(ask))).toEqual({ text: '0123', error: undefined })
    expect(performance.now() - started).toBeGreaterThan(500)
    const { error } = await textOf(await second.call(ask))
    expect(error).toMatchObject({ phase: 'first_content', deliveredEvents: 2 })
    expect([first.signal.aborted, second.signal.reason === error]).toEqual([false, true])
    expect([await ended(1), await ended(2)]).toEqual(['served', 'left'])
  })

  it('have no deadline between them, however long a tool takes', async () => {
    const { ask } = await provider([say('let me look')], [say('found it')])
    const turns = turnDeadlines({ ...deadlines, livenessMs: 500, totalMs: 5000 })
    const texts: string[] = []
    for (let turn = 0; turn < 2; turn++) {
      using context = turns.next()
      texts.push((await textOf(await context.call(ask))).text)
      if (turn === 0) await new Promise((resolve) => setTimeout(resolve, 1200))
      expect(context.signal.aborted).toBe(false)
    }
    expect(texts).toEqual(['let me look', 'found it'])
  })

  it('may fail one by one: what the server says of the second is thrown in that', async () => {
    const { ask, requests } = await provider(
      [say('let me look')],
      [send('response.failed', { response: { id: 'r', error: { code: 'server_error', message: 'boom' } } }), close],
    )
    const turns = turnDeadlines(deadlines)
    const [first, second] = [turns.next(), turns.next()]
    expect(await textOf(await first.call(ask))).toEqual({ text: 'let me look', error: undefined })
    const { error } = await textOf(await second.call(ask))
    expect(error).toBeInstanceOf(StreamFailedError)
    expect(error).toMatchObject({ code: 'server_error', retryable: true })
    expect([first.signal.aborted, requests.length]).toEqual([false, 2])
  })

  it('may report an error in the second and complete it all the same', async () => {
    const { ask } = await provider(
      [say('let me look')],
      [send('error', { code: 'server_error', message: 'a hiccup' }), say('found it')],
    )
    const turns = turnDeadlines(deadlines)
    const texts = [await textOf(await turns.next().call(ask)), await textOf(await turns.next().call(ask))]
    expect(texts).toEqual(['let me look', 'found it'].map((text) => ({ text, error: undefined })))
  })

  it('may each have a signal of their own in place of that of all', async () => {
    const { ask } = await provider([say('all is well')])
    const turns = turnDeadlines({ ...deadlines, signal: AbortSignal.abort(new Error('over')) })
    await expect(turns.next().call(ask)).rejects.toThrow('over')
    const own = turns.next({ signal: new AbortController().signal })
    expect((await textOf(await own.call(ask))).text).toBe('all is well')
  })

  it('leave nothing of themselves on the signal of the caller, over hundreds of them', async () => {
    const { signal } = new AbortController()
    const listeners = counted(signal)
    const turns = turnDeadlines({ ...deadlines, maxStallRetries: 1, signal })
    for (let turn = 0; turn < 300; turn++) {
      using context = turns.next()
      const events = async function* () {
        yield { type: 'response.output_text.delta', delta: 'a' }
      }
      expect((await all(await context.call(events))).length).toBe(1)
    }
    expect(listeners()).toBe(0)
  })
})

describe('while a person is asked', () => {
  it('no deadline runs; when the answer is there the silence begins anew', async () => {
    const { ask, ended } = await provider([say('may I?'), hang])
    const turn = turnDeadlines({ ...deadlines, totalMs: 2000 }).next()
    const read = settling(textOf(await turn.call(ask)))
    const approved = await turn.whilePaused(async () => {
      await new Promise((resolve) => setTimeout(resolve, 2500))
      return 'yes'
    })
    expect([approved, read.outcome, turn.signal.aborted]).toEqual(['yes', null, false])
    const resumed = performance.now()
    expect(await ended(1)).toBe('left')
    expect(performance.now() - resumed).toBeGreaterThan(490)
    await expect.poll(() => read.value?.error).toMatchObject({ phase: 'between_content' })
  })

  it('an answer that goes on after it is whole', async () => {
    const { ask } = await provider([say('may I? '), wait(1200), say('thanks')])
    const turn = turnDeadlines(deadlines).next()
    const response = await turn.call(ask)
    const read = textOf(response)
    turn.pause()
    await new Promise((resolve) => setTimeout(resolve, 1000))
    turn.resume()
    expect(await read).toEqual({ text: 'may I? thanks', error: undefined })
  })

  it('the next request is under the deadlines of the turn again', async () => {
    const { ask } = await provider([say('may I?')], [begin, hang])
    const turn = turnDeadlines(deadlines).next()
    expect((await textOf(await turn.call(ask))).text).toBe('may I?')
    await turn.whilePaused(() => new Promise((resolve) => setTimeout(resolve, 700)))
    const { error } = await textOf(await turn.call(ask))
    expect(error).toMatchObject({ phase: 'first_content' })
  })

  it('the deadlines go on where the question fails', async () => {
    const turn = turnDeadlines(deadlines).next()
    const refused = turn.whilePaused(() => Promise.reject(new Error('no')))
    await expect(refused).rejects.toThrow('no')
    const { ask } = await provider([begin, hang])
    const { error } = await textOf(await turn.call(ask))
    expect(error).toMatchObject({ phase: 'first_content' })
  })
})

describe('a stream of the caller', () => {
  it('is under the deadlines of a turn by watch(), and its stall aborts the signal of the turn', async () => {
    const { ask, ended } = await provider([begin, hang])
    const turn = turnDeadlines(deadlines).next()
    const { error } = await textOf(await turn.watch(ask(turn)))
    expect(error).toMatchObject({ phase: 'first_content' })
    expect(turn.signal.reason).toBe(error)
    expect(await ended(1)).toBe('left')
  })

  it('ends with the reason of the caller, though its own request was not given the signal', async () => {
    const caller = new AbortController()
    const turn = turnDeadlines({ ...deadlines, signal: caller.signal }).next()
    const { ask, ended } = await provider([say('half'), hang])
    const response = await turn.watch(ask({ signal: new AbortController().signal }))
    const read = settling(textOf(response))
    caller.abort('enough')
    await expect.poll(() => read.value?.error).toBe('enough')
    expect(await ended(1)).toBe('left')
  })
})

describe('the options of turns', () => {
  it.each([
    ['firstContentMs', { firstContentMs: '500' }, TypeError],
    ['source', { source: 'morse' }, TypeError],
    ['warnAt', { warnAt: 1 }, RangeError],
    ['backoff', { backoff: -1 }, TypeError],
    ['budget', { budget: {} }, TypeError],
    ['onRetry', { onRetry: 'tell me' }, TypeError],
  ])('are refused at once where they are bad: %s %j', (name, options, kind) => {
    const make = () => turnDeadlines(options as unknown as TurnDeadlinesOptions)
    expect(make).toThrow(kind)
    expect(make).toThrow(name)
  })
})
