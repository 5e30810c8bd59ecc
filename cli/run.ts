import { Command } from 'commander'
export function runCommand(): Command {
  return new Command('run')
}
