/** The adapters as a T3 server makes them, but for their clock, which a test moves. */

import { VirtualHost } from '../../../hosts/replay/virtual-host.ts'
import { T3V1 as RealV1, T3V2 as RealV2, type T3Options, type T3V1Options } from '../../../hosts/t3/index.ts'

const virtual = new VirtualHost({ wallBaseMs: Date.UTC(2026, 0, 1) })
const onVirtualTime = { clock: virtual.clock, timer: false }
const made: { tick(): void }[] = []

export class T3V1 extends RealV1 {
  constructor(options: T3V1Options = {}) {
    super({ ...options, ...onVirtualTime })
    made.push(this)
  }
}

export class T3V2 extends RealV2 {
  constructor(options: T3Options = {}) {
    super({ ...options, ...onVirtualTime })
    made.push(this)
  }
}

/** Lets what is under way come to rest: nothing in these servers waits for a timer or a file. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 25; turns++) await new Promise((resolve) => setImmediate(resolve))
}

/** Lets seconds pass, and what they bring come to rest in each. */
export async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    virtual.run(virtual.now + 1000, () => {
      for (const host of made) host.tick()
    })
    await settle()
  }
}
