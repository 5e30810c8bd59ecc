import { describe, expect, it } from 'vitest'
import { lines, read } from './read.ts'

let made = 0
/** A runtime event of T3 in the thread `t`, of the turn `one` unless that says otherwise. */
function event(type: string, payload: object = {}, more: object = {}) {
  return {
    eventId: `e${++made}`,
    provider: 'codex',
    threadId: 't',
    createdAt: '2026-09-28T00:00:00.000Z',
    turnId: 'one',
    type,
    payload,
    ...more,
  }
}
const UNNAMED = { turnId: undefined }

const told = (...events: object[]) => lines(read('t3-canonical', events))

describe('a turn of T3', () => {
  it('begins with its model and ends as its state says', () => {
    expect(
      told(
        event('turn.started', { model: 'gpt-5' }),
        event('content.delta', { streamKind: 'reasoning_text', delta: 'hm' }),
        event('content.delta', { streamKind: 'assistant_text', delta: 'a' }),
        event('content.delta', { streamKind: 'assistant_text', delta: '' }),
        event('turn.completed', { state: 'completed' }),
        event('turn.started', {}, { turnId: 'two' }),
        event('turn.completed', { state: 'interrupted' }, { turnId: 'two' }),
        event('turn.started', {}, { turnId: 'three' }),
        event('turn.aborted', { reason: 'stopped' }, { turnId: 'three' }),
        event('turn.started', {}, { turnId: 'four' }),
        event('turn.completed', { state: 'failed', errorMessage: 'overloaded' }, { turnId: 'four' }),
      ),
    ).toEqual([
      't turn.started provider=codex model=gpt-5 turn=one',
      't token stream=reasoning turn=one',
      't token stream=text turn=one',
      't turn.ended outcome=completed turn=one',
      't turn.started provider=codex turn=two',
      't turn.ended outcome=aborted turn=two',
      't turn.started provider=codex turn=three',
      't turn.ended outcome=aborted turn=three',
      't turn.started provider=codex turn=four',
      't error message=overloaded turn=four',
      't turn.ended outcome=error turn=four',
    ])
  })

  it('has no provider error when a limit of the caller ended it', () => {
    expect(
      told(event('turn.started'), event('turn.completed', { state: 'failed', stopReason: 'error_max_turns' })),
    ).toEqual(['t turn.started provider=codex turn=one', 't turn.ended outcome=error turn=one'])
  })

  it('takes the events that name no turn, and a late end of an older one leaves it alone', () => {
    expect(
      told(
        event('turn.started'),
        event('turn.started', {}, { turnId: 'two' }),
        event('turn.completed', { state: 'completed' }),
        event('content.delta', { streamKind: 'assistant_text', delta: 'a' }, UNNAMED),
        event('turn.completed', { state: 'completed' }, UNNAMED),
      ),
    ).toEqual([
      't turn.started provider=codex turn=one',
      't turn.started provider=codex turn=two',
      't turn.ended outcome=completed turn=one',
      't token stream=text turn=two',
      't turn.ended outcome=completed turn=two',
    ])
  })

  it('is begun by no event without a turn id, but by one whose turn began before we looked', () => {
    const delta = (more: object) => event('content.delta', { streamKind: 'assistant_text', delta: 'a' }, more)
    expect(told(delta(UNNAMED), delta({ turnId: 'seen' }), delta(UNNAMED))).toEqual([
      't token stream=text turn=seen',
      't token stream=text turn=seen',
    ])
  })

  it('that has ended is not begun again by what comes late', () => {
    expect(
      told(
        event('turn.started'),
        event('turn.completed', { state: 'completed' }),
        event('content.delta', { streamKind: 'assistant_text', delta: 'late' }),
        event('hook.started', { hookId: 'h' }, UNNAMED),
        event('item.started', { itemType: 'command_execution' }, { ...UNNAMED, itemId: 'i' }),
      ),
    ).toEqual([
      't turn.started provider=codex turn=one',
      't turn.ended outcome=completed turn=one',
      't token stream=text turn=one',
    ])
  })
})

describe('tools', () => {
  it('are open between their items, with type and title, and their output is progress', () => {
    const item = { itemId: 'i1' }
    expect(
      told(
        event('item.started', { itemType: 'command_execution', title: 'npm test' }, item),
        event('content.delta', { streamKind: 'command_output', delta: 'ok' }, item),
        event('tool.progress', { toolUseId: 'i1', elapsedSeconds: 5 }),
        event('item.completed', { itemType: 'command_execution' }, item),
      ),
    ).toEqual([
      't tool.started id=i1 name=command_execution title=npm test turn=one',
      't progress what=content.delta:command_output turn=one',
      't tool.ended id=i1 turn=one',
    ])
  })

  it('without item ids are paired by their type', () => {
    expect(
      told(event('item.started', { itemType: 'web_search' }), event('item.completed', { itemType: 'web_search' })),
    ).toEqual([
      't tool.started id=web_search name=web_search title=null turn=one',
      't tool.ended id=web_search turn=one',
    ])
  })

  it('that an update shows finished, or that were denied, do not stay open', () => {
    const update = event('item.updated', { itemType: 'file_change', status: 'declined' }, { itemId: 'f' })
    expect(told(update, event('tool.denied', {}, { itemId: 'g' }))).toEqual([
      't progress what=item.updated:file_change turn=one',
      't tool.ended id=f turn=one',
      't tool.ended id=g turn=one',
    ])
    const whole = event('item.started', { itemType: 'file_change', status: 'completed' }, { itemId: 'f' })
    expect(told(whole)).toEqual(['t progress what=item.started:file_change turn=one'])
  })

  it('other items are progress, whole ones of the model tokens, echoes of the input neither', () => {
    expect(
      told(
        event('item.started', { itemType: 'assistant_message' }, { itemId: 'm' }),
        event('item.completed', { itemType: 'assistant_message' }, { itemId: 'm' }),
        event('item.completed', { itemType: 'reasoning' }, { itemId: 'r' }),
        event('item.completed', { itemType: 'user_message' }, { itemId: 'u' }),
        event('item.completed', { itemType: 'review_exited' }, { itemId: 'v' }),
        event('turn.plan.updated', { plan: [] }),
      ),
    ).toEqual([
      't progress what=item.started turn=one',
      't token stream=text turn=one',
      't token stream=reasoning turn=one',
      't progress what=item.completed turn=one',
      't progress what=turn.plan.updated turn=one',
    ])
  })
})

describe('waits', () => {
  it('are for approval, input, a login, a sub-agent, background work and compaction', () => {
    expect(
      told(
        event('request.opened', { requestType: 'command_execution_approval' }, { requestId: 'q1' }),
        event('request.resolved', {}, { requestId: 'q1' }),
        event('request.opened', { requestType: 'auth_tokens_refresh' }, { requestId: 'q2' }),
        event('user-input.requested', {}, { requestId: 'q3' }),
        event('user-input.resolved', {}, { requestId: 'q3' }),
        event('task.started', { taskId: 'k' }),
        event('task.updated', { taskId: 'k', isBackgrounded: true }),
        event('task.completed', { taskId: 'k', status: 'completed' }),
        event('item.started', { itemType: 'context_compaction' }, { itemId: 'c' }),
        event('thread.state.changed', { state: 'compacted' }),
      ),
    ).toEqual([
      't wait.started id=q1 reason=approval turn=one',
      't wait.ended id=q1 turn=one',
      't wait.started id=q2 reason=auth turn=one',
      't wait.started id=q3 reason=input turn=one',
      't wait.ended id=q3 turn=one',
      't wait.started id=k reason=subagent turn=one',
      't progress what=task.updated turn=one',
      't wait.started id=k reason=background turn=one',
      't wait.ended id=k turn=one',
      't wait.started id=c reason=compaction turn=one',
      't wait.ended id=c turn=one',
    ])
  })

  it('a paused task is none, and one that goes on is again', () => {
    expect(
      told(
        event('task.started', { taskId: 'k' }),
        event('task.updated', { taskId: 'k', status: 'paused' }),
        event('task.updated', { taskId: 'k', status: 'running' }),
      ),
    ).toEqual([
      't wait.started id=k reason=subagent turn=one',
      't wait.ended id=k turn=one',
      't progress what=task.updated turn=one',
      't wait.started id=k reason=subagent turn=one',
    ])
  })
})

describe('tasks in the background', () => {
  const server = event('task.started', { taskId: 'k', taskType: 'local_bash' })
  const says = event('content.delta', { streamKind: 'assistant_text', delta: 'a' })
  const said = event('item.completed', { itemType: 'assistant_message' }, { itemId: 'm' })
  const starts = (itemId: string) => event('item.started', { itemType: 'command_execution' }, { itemId })
  const ends = (itemId: string) => event('item.completed', { itemType: 'command_execution' }, { itemId })

  it('do not keep the model from going on after each tool, until it has said all that it had to say', () => {
    const denied = event('item.updated', { itemType: 'file_change', status: 'declined' }, { itemId: 'c' })
    expect(told(starts('a'), server, ends('a'), says, said, starts('b'), ends('b'), ends('b'), said, denied)).toEqual([
      't tool.started id=a name=command_execution title=null turn=one',
      't wait.started id=k reason=background turn=one',
      't tool.ended id=a turn=one',
      't progress what=model-call-start turn=one',
      't token stream=text turn=one',
      't token stream=text turn=one',
      't progress what=model-call-end turn=one',
      't tool.started id=b name=command_execution title=null turn=one',
      't tool.ended id=b turn=one',
      't progress what=model-call-start turn=one',
      't tool.ended id=b turn=one',
      't token stream=text turn=one',
      't progress what=model-call-end turn=one',
      't progress what=item.updated:file_change turn=one',
      't tool.ended id=c turn=one',
      't progress what=model-call-start turn=one',
    ])
  })

  it('are not alone while a sub-agent works, for which the model waits', () => {
    const agent = event('task.started', { taskId: 's' })
    const over = event('task.completed', { taskId: 's', status: 'completed' })
    expect(told(server, ends('a'), agent, ends('b'), over).slice(2)).toEqual([
      't progress what=model-call-start turn=one',
      't progress what=model-call-end turn=one',
      't wait.started id=s reason=subagent turn=one',
      't tool.ended id=b turn=one',
      't wait.ended id=s turn=one',
      't progress what=model-call-start turn=one',
    ])
    const leaves = event('task.updated', { taskId: 's', isBackgrounded: true })
    expect(told(agent, ends('a'), leaves, ends('b')).slice(-3)).toEqual([
      't wait.started id=s reason=background turn=one',
      't tool.ended id=b turn=one',
      't progress what=model-call-start turn=one',
    ])
  })

  it('see no model called by the end of a hook, or of a tool of another turn, or without any task', () => {
    const hook = event('hook.completed', { hookId: 'h' })
    const other = event('item.completed', { itemType: 'command_execution' }, { itemId: 'o', turnId: 'zero' })
    expect(told(ends('a'), server, hook, other)).toEqual([
      't tool.ended id=a turn=one',
      't wait.started id=k reason=background turn=one',
      't tool.ended id=h turn=one',
      't tool.ended id=o turn=zero',
    ])
  })

  it('see the model called anew in a new attempt, once it speaks', () => {
    const again = event('runtime.error', { message: 'reset', willRetry: true })
    expect(told(server, says, again, says).slice(1)).toEqual([
      't progress what=model-call-start turn=one',
      't token stream=text turn=one',
      't attempt.started turn=one',
      't progress what=model-call-start turn=one',
      't token stream=text turn=one',
    ])
  })
})

describe('compaction that a session tells', () => {
  const compacts = event('session.state.changed', { state: 'waiting', reason: 'status:compacting' })

  it('is over when the model speaks, and its own end adds nothing then', () => {
    expect(
      told(
        event('turn.started'),
        compacts,
        event('task.progress', { taskId: 'k' }),
        event('content.delta', { streamKind: 'reasoning_text', delta: 'a' }),
        event('thread.state.changed', { state: 'compacted' }),
      ).slice(1),
    ).toEqual([
      't wait.started id=compaction reason=compaction turn=one',
      't progress what=task.progress turn=one',
      't wait.ended id=compaction turn=one',
      't token stream=reasoning turn=one',
    ])
  })
})

describe('what goes wrong', () => {
  it('an error that the provider tries again is a new attempt, any other a final error without an end', () => {
    expect(
      told(
        event('turn.started'),
        event('runtime.error', { message: 'reset', willRetry: true }),
        event('runtime.error', { message: 'gone', class: 'provider_error' }),
      ),
    ).toEqual(['t turn.started provider=codex turn=one', 't attempt.started turn=one', 't error message=gone turn=one'])
  })

  it('a session that exits is gone, one that was stopped ends its turn', () => {
    expect(told(event('turn.started'), event('session.exited', { exitKind: 'error' }, UNNAMED))).toEqual([
      't turn.started provider=codex turn=one',
      't exit turn=one',
    ])
    expect(told(event('turn.started'), event('session.exited', { exitKind: 'graceful' }, UNNAMED))).toEqual([
      't turn.started provider=codex turn=one',
      't turn.ended outcome=aborted turn=one',
    ])
  })

  it('a voice channel that fails says nothing of the turn', () => {
    expect(told(event('turn.started'), event('thread.realtime.error', { message: 'x' }, UNNAMED))).toEqual([
      't turn.started provider=codex turn=one',
    ])
  })

  it('account, rate limit and usage traffic is side, whatever turn it names', () => {
    const side = ['account.rate-limits.updated', 'thread.token-usage.updated', 'mcp.status.updated', 'session.health']
    expect(told(...side.map((type) => event(type)))).toEqual([])
  })

  it('an unknown type is progress only where it names the turn that runs', () => {
    const unclassified: string[] = []
    const said = read(
      't3-canonical',
      [event('turn.started'), event('new.thing'), event('new.thing', {}, UNNAMED), event('new.ping')],
      {
        onUnclassified: (_, type) => unclassified.push(type),
      },
    )
    expect(said.map(({ event: { kind } }) => kind)).toEqual(['turn.started', 'progress', 'side', 'side'])
    expect(unclassified).toEqual(['new.thing', 'new.thing', 'new.ping'])
  })

  it('tokens of the running turn are one shared object', () => {
    const says = event('content.delta', { streamKind: 'assistant_text', delta: 'a' })
    const [, first, second] = read('t3-canonical', [event('turn.started'), says, says])
    expect(first?.event).toBe(second?.event)
    expect(Object.isFrozen(first?.event)).toBe(true)
  })
})
