/** All rules over dashboards by their names. */

import { rules as costs } from './costs.ts'
import type { Rule } from './lint.ts'
import { rules as panels } from './panels.ts'
import { rules as promql } from './promql.ts'
import { rules as seen } from './seen.ts'
import { rules as variables } from './variables.ts'
import { rules as whole } from './whole.ts'
import { rules as words } from './words.ts'

export const RULES: Readonly<Record<string, Rule>> = {
  ...whole,
  ...variables,
  ...panels,
  ...promql,
  ...words,
  ...seen,
  ...costs,
}
