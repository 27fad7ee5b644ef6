/** Options that select where a command works, each with a leading space, such as ` -n west`. */
export interface CommandPlace {
  readonly commandFlags: string;
}

/**
 * Formats a command for the user to type, in backticks. `test/unit/cli/proposals.test.ts` runs each of them.
 * @param at a namespace of this machine, or any place
 */
export function commandIn(at: string | CommandPlace, words: string): string {
  return `\`earshot${typeof at === 'string' ? flagsOf(at) : at.commandFlags} ${words}\``;
}

/** The option for a namespace; empty for the default one. */
export function flagsOf(namespace: string): string {
  const isUsual = namespace === 'default' && (process.env['EARSHOT_NAMESPACE'] ?? '') === '';
  return isUsual ? '' : ` -n ${namespace}`;
}
