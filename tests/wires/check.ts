/**
 * What the checks in this folder are made of: a file a wire, which compiles while the wire's table has all that the
 * wire's SDK has. No package has the types of `codex app-server` (the program itself generates them), of
 * `opencode run` and of T3's events, so these have no check.
 */

/** Holds when `Wrong` has no members: `Type '"item.paused"' does not satisfy the constraint 'never'` names each that it has. */
export type None<Wrong extends never> = Wrong

/** The event types that a table has no key for. Types that an SDK no longer tells apart are wrong too. */
export type Missing<Types extends string, Table> = [Types] extends [never] ? 'no types' : Exclude<Types, keyof Table>

/** What one of two sets has and the other has not: a value that nobody decided, or one that the SDK does not have. */
export type Difference<Sdk extends string, Decided extends string> = Exclude<Sdk | Decided, Sdk & Decided>

/** The values that the rules of an event type name at a path. */
export type Ruled<Event, Path extends string> = Event extends { readonly rules: readonly (infer Rule)[] }
  ? ValueAt<Rule, Path>
  : never

type ValueAt<Rule, Path extends string> = Rule extends { readonly when: { readonly path: Path } & infer Condition }
  ? Condition extends { readonly equals: infer Value extends string }
    ? Value
    : Condition extends { readonly in: readonly (infer Value extends string)[] }
      ? Value
      : Condition extends { readonly anyIn: readonly (infer Value extends string)[] }
        ? Value
        : never
  : never

/** The literals that a union's members have at `Key`; open members, such as `string` for what is yet to come, have none. */
export type At<Union, Key extends string> = Union extends { readonly [Name in Key]?: infer Value }
  ? Literal<Value>
  : never

type Literal<Value> = Value extends string
  ? Record<never, never> extends Record<Value, unknown>
    ? never
    : Value
  : never
