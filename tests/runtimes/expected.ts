/** What is to be found in every runtime, by the names of the scenario's parts. */

const a = { type: 'response.output_text.delta', delta: 'a' }
const b = { type: 'response.output_text.delta', delta: 'b' }
const c = { type: 'response.output_text.delta', delta: 'c' }
const created = { type: 'response.created', response: {} }
const completed = { type: 'response.completed', response: { status: 'completed' } }

/** What an error tells of itself, beside its message. */
function stall(
  phase: string,
  setting: string,
  timeoutMs: number,
  deliveredEvents: number,
  lastEventType: string | null,
) {
  const receivedAnyContent = phase === 'between_content'
  return {
    name: 'StreamStalledError',
    phase,
    setting,
    timeoutMs,
    isOver: true,
    deliveredEvents,
    lastEventType,
    receivedAnyContent,
    retryable: !receivedAnyContent,
    settingSource: 'option',
    attempt: 1,
  }
}

export const EXPECTED = {
  noContent: {
    events: [created],
    end: {
      ...stall('first_content', 'firstContentMs', 60, 1, 'response.created'),
      message: 'stream stalled: no content within 60 ms (firstContentMs), after 1 event, the last response.created',
    },
    isCancelledWithIt: true,
    heard: ['onStall', 'read'],
  },
  noMoreContent: {
    events: [a, b, c],
    end: {
      ...stall('between_content', 'contentIntervalMs', 60, 3, 'response.output_text.delta'),
      message:
        'stream stalled: no more content within 60 ms (contentIntervalMs), after 3 events, the last response.output_text.delta',
    },
  },
  noSignOfLife: {
    chunks: 7,
    end: {
      ...stall('liveness', 'livenessMs', 250, 0, null),
      message: 'stream stalled: nothing at all within 250 ms (livenessMs), after 0 events',
    },
  },
  noEnd: {
    hasEvents: true,
    phase: 'total',
    setting: 'totalMs',
    receivedAnyContent: true,
    retryable: false,
    isCancelled: true,
  },
  noResponse: {
    end: {
      ...stall('headers', 'headersMs', 60, 0, null),
      message: 'stream stalled: no response within 60 ms (headersMs), after 0 events',
    },
  },
  noCloseAfterTheEnd: { events: [a, completed], end: 'done', cancelledWith: ['AbortError'] },
  aSlowConsumer: { steps: [{ done: false, value: a }, { done: false, value: b }, { done: true }] },
  deadlinesOfYears: { events: [a, b], end: 'done' },
  noDeadline: { isTheSame: true },
  aBlockedLoop: { events: [a, b], end: 'done' },

  aFailure: {
    events: 2,
    end: {
      name: 'StreamFailedError',
      message: 'stream failed: server_error: it broke',
      code: 'server_error',
      errorType: null,
      response: { status: 'failed', error: { code: 'server_error', message: 'it broke' } },
      retryable: true,
    },
  },
  anErrorOfTheSource: { events: [a], isTheSame: true },
  anAbort: { events: [a], isItsReason: true, isCancelledWithIt: true },
  anIterableThatStalls: {
    events: [a],
    end: {
      ...stall('between_content', 'contentIntervalMs', 60, 1, 'response.output_text.delta'),
      message:
        'stream stalled: no more content within 60 ms (contentIntervalMs), after 1 event, the last response.output_text.delta',
    },
    requestId: 'req_1',
    isAborted: true,
  },
  anIterableThatIsLeft: { events: 3, isLeft: true },

  bytesAsTheyCame: {
    isAnother: true,
    isResponse: true,
    said: [201, 'Made', true, 'text/event-stream; charset=utf-8', 'req_1'],
    isSameText: true,
    end: 'done',
  },
  bytesIntoMemory: { isSameText: true },
  theRuntimesOwn: { isSameText: [true, true, true] },
  aResponseThatStalls: {
    isSameText: true,
    end: {
      ...stall('between_content', 'contentIntervalMs', 60, 2, 'delta.content'),
      message:
        'stream stalled: no more content within 60 ms (contentIntervalMs), after 2 events, the last delta.content',
    },
    isCancelledWithIt: true,
  },
  aTextThatStalls: { isRejected: true, heard: ['between_content'] },
  noCloseAfterDone: { isSameText: true },
  aWholeReply: { isTheSame: true, said: { fine: true } },

  retries: {
    events: [created, a],
    end: 'done',
    reasons: [
      [1, true, 'StreamStalledError'],
      [2, true, 'StreamStalledError'],
      [3, false, null],
    ],
    heard: [
      [2, 'first_content', 20],
      [3, 'first_content', 20],
    ],
  },
  retriesUsedUp: {
    end: {
      ...stall('first_content', 'firstContentMs', 60, 0, null),
      message: 'stream stalled: no content within 60 ms (firstContentMs) in try 2, after 0 events',
      attempt: 2,
    },
  },
  aPause: {
    order: ['resumed', 'stalled'],
    end: {
      ...stall('first_content', 'firstContentMs', 100, 0, null),
      message: 'stream stalled: no content within 100 ms (firstContentMs), after 0 events',
    },
  },
  aTurn: { phase: 'between_content', isAborted: true, isNextFresh: true },
  severalConsumers: { events: [[a], [a], [a]], isSameError: true },
  counts: {
    counted: [
      ['started', 'openai-responses'],
      ['stalled', 'openai-responses', 'first_content'],
    ],
    phase: 'first_content',
  },
  openRoutersFunctions: {
    events: [{ choices: [{ index: 0, delta: { content: 'a' } }] }],
    end: {
      ...stall('between_content', 'contentIntervalMs', 60, 1, 'delta.content'),
      message:
        'stream stalled: no more content within 60 ms (contentIntervalMs), after 1 event, the last delta.content',
    },
  },
  twoCopies: { areTwo: true, isOurs: true, isTheirs: true, isTheirOther: false, isAnyError: false },
}

export const EXPECTED_OVER_HTTP = {
  said: [200, 'text/event-stream', true],
  text: 'data: {"type":"response.output_text.delta","delta":"Grüß di"}\n\n',
  end: {
    ...stall('between_content', 'contentIntervalMs', 300, 1, 'response.output_text.delta'),
    message:
      'stream stalled: no more content within 300 ms (contentIntervalMs), after 1 event, the last response.output_text.delta',
  },
  noHeaders: {
    ...stall('headers', 'headersMs', 300, 0, null),
    message: 'stream stalled: no response within 300 ms (headersMs), after 0 events',
  },
}
