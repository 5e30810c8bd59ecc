/** Random numbers that are the same in every run: sfc32, and what is drawn from it. */

export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number, stream: number) {
    this.#a = seed | 0
    this.#b = stream | 0
    this.#c = 0x9e3779b9 | 0
    for (let i = 0; i < 20; i++) this.#next()
  }

  /** Uniform in (0, 1), with 52 bits, so that rare events are not cut off. */
  uniform(): number {
    const high = this.#next() >>> 6
    const low = this.#next() >>> 6
    return (high * 2 ** 26 + low + 0.5) * 2 ** -52
  }

  normal(): number {
    return upperNormalQuantile(this.uniform())
  }

  /** `e^(sigma z)`: lognormal with median 1. */
  lognormal(sigma: number): number {
    return Math.exp(sigma * this.normal())
  }

  /** A count with the given mean, for small means. */
  poisson(mean: number): number {
    if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * this.normal()))
    let count = 0
    for (let product = this.uniform(); product > Math.exp(-mean); product *= this.uniform()) count++
    return count
  }

  /** The share of one draw that the largest of `count` draws leaves above it: its tail probability. */
  tailOfLargest(count: number): number {
    return -Math.expm1(Math.log(this.uniform()) / count)
  }

  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return sum >>> 0
  }
}

const A = [
  -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716, 2.506628277459239,
]
const B = [-54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1]
const C = [
  -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
]
const D = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1]

/** The z that a standard normal exceeds with probability `q`, after Acklam (relative error below 1.2e-9). */
export function upperNormalQuantile(q: number): number {
  if (q > 0.5) return -upperNormalQuantile(1 - q)
  if (q < 0.02425) {
    const r = Math.sqrt(-2 * Math.log(q))
    return -polynomial(C, r) / polynomial(D, r)
  }
  const r = 0.5 - q
  return (polynomial(A, r * r) * r) / polynomial(B, r * r)
}

function polynomial(coefficients: readonly number[], x: number): number {
  let sum = 0
  for (const coefficient of coefficients) sum = sum * x + coefficient
  return sum
}

/** Draws keys 0 to `keys` - 1 with probabilities that fall as rank^-exponent. */
export function zipf(keys: number, exponent: number): (random: Random) => number {
  const upTo = new Float64Array(keys)
  let total = 0
  for (let key = 0; key < keys; key++) {
    total += (key + 1) ** -exponent
    upTo[key] = total
  }
  return (random) => {
    const at = random.uniform() * total
    let low = 0
    let high = keys - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (at < (upTo[middle] as number)) high = middle
      else low = middle + 1
    }
    return low
  }
}
