// A `codex` that prints a recording: the last argument.

import { play } from './play.mjs'

play(process.argv.at(-1))
