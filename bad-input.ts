/** Input that cannot be used: one line that says what was wrong, the value, and what is allowed. */
export class BadInput extends Error {
  override readonly name = 'BadInput'
}
