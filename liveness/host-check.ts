/**
 * Which Host headers are answered. A page elsewhere can point its own name at 127.0.0.1 (DNS rebinding) and then read
 * what a loopback server says; its requests carry that name as Host, so only known names get an answer.
 */

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'] as const

/** A name or address in brackets, and a port. */
const HOST = /^(\[[\da-f:.]+\]|[^\s:/?#@[\]]+)(?::\d{1,5})?$/

/**
 * Tells whether a Host header names this server: a loopback name, or one of `allowedHosts`, each with any port. An
 * allowed host that has a port itself is allowed with that port only. Throws TypeError for one that is no host.
 */
export function hostCheck(allowedHosts: readonly string[] = []): (host: string) => boolean {
  const allowed = new Set<string>(LOOPBACK)
  for (const host of allowedHosts) {
    const name = host.toLowerCase()
    if (!HOST.test(name)) {
      throw new TypeError(`allowedHosts: ${JSON.stringify(host)} is not a host name, such as watch.example or [::1]`)
    }
    allowed.add(name)
  }
  return (host) => {
    const name = host.toLowerCase()
    const [, bare] = HOST.exec(name) ?? []
    return bare !== undefined && (allowed.has(bare) || allowed.has(name))
  }
}
