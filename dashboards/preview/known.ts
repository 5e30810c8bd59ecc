/** Options that the preview draws, so that one which it would leave out is an error and not a picture that lies. */

/** `any` where every value is fine: it is drawn as it says, or changes nothing in a picture. */
type Allowed = 'any' | readonly unknown[]

export type Known = Readonly<Record<string, Allowed>>

/** Throws for an option, or a value of one, that is not known. */
export function refuseUnknown(of: string, options: Readonly<Record<string, unknown>>, known: Known): void {
  for (const [name, value] of Object.entries(options)) {
    const allowed = Object.hasOwn(known, name) ? known[name] : undefined
    if (allowed === undefined) throw new Error(`${of}: the preview knows no option ${name}`)
    if (allowed !== 'any' && !allowed.includes(value)) {
      throw new Error(`${of}: the preview knows no ${name} ${JSON.stringify(value)}`)
    }
  }
}
