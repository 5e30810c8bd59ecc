/** What the whole items and parts on a Responses stream carry: model text, reasoning or a tool call, or none of them. */

import type { TokenStream } from '../events.ts'
import { isRaw, type Raw, text } from './classifier.ts'

/** Events that are about the same stream whatever is in them. */
const OF_EVENT: ReadonlyMap<string, TokenStream> = new Map<string, TokenStream>([
  ['response.output_text.done', 'text'],
  ['response.refusal.done', 'text'],
  ['response.fusion_call.panel.completed', 'text'],
  ['response.fusion_call.analysis.completed', 'text'],
  ['response.fusion_call.panel.reasoning.delta', 'reasoning'],
  ['response.reasoning_text.done', 'reasoning'],
  ['response.reasoning_summary_text.done', 'reasoning'],
  ['response.reasoning_summary_part.done', 'reasoning'],
  ['response.function_call_arguments.done', 'tool-args'],
  ['response.mcp_call_arguments.done', 'tool-args'],
  ['response.custom_tool_call_input.done', 'tool-args'],
  ['response.code_interpreter_call_code.done', 'tool-args'],
  ['response.shell_call_command.done', 'tool-args'],
  ['response.apply_patch_call_operation_diff.done', 'tool-args'],
])

/** Output items that the model wrote. All others are results, of hosted tools too. */
const OF_ITEM: ReadonlyMap<string, TokenStream> = new Map<string, TokenStream>([
  ['message', 'text'],
  ['reasoning', 'reasoning'],
  ['function_call', 'tool-args'],
  ['custom_tool_call', 'tool-args'],
  ['shell_call', 'tool-args'],
  ['local_shell_call', 'tool-args'],
  ['apply_patch_call', 'tool-args'],
  ['computer_call', 'tool-args'],
  ['tool_search_call', 'tool-args'],
  ['mcp_approval_request', 'tool-args'],
  ['program', 'tool-args'],
])

const OF_PART: ReadonlyMap<string, TokenStream> = new Map<string, TokenStream>([
  ['output_text', 'text'],
  ['refusal', 'text'],
  ['reasoning_text', 'reasoning'],
])

/** The stream of an event with a whole item or part; undefined where it carries nothing that the model wrote. */
export function streamOfItem(key: string, raw: Raw): TokenStream | undefined {
  if (key === 'response.output_item.done') return OF_ITEM.get(typeOf(raw.item))
  if (key === 'response.content_part.done') return OF_PART.get(typeOf(raw.part))
  return OF_EVENT.get(key)
}

function typeOf(value: unknown): string {
  return (isRaw(value) ? text(value.type) : undefined) ?? ''
}
