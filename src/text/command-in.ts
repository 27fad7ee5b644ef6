/** Where a command works: the options that say so, each with a space before it, as in ` -n west`. */
export interface CommandPlace {
  readonly commandFlags: string;
}

/**
 * A command for the person to type, as it works there: in backticks, as messages show commands. `test/unit/cli/proposals.test.ts`
 * types each of them.
 * @param at a namespace of this machine, or any place
 */
export function commandIn(at: string | CommandPlace, words: string): string {
  return `\`earshot${typeof at === 'string' ? flagsOf(at) : at.commandFlags} ${words}\``;
}

/** Of a namespace, unless it is the one that is meant without. */
export function flagsOf(namespace: string): string {
  const isUsual = namespace === 'default' && (process.env['EARSHOT_NAMESPACE'] ?? '') === '';
  return isUsual ? '' : ` -n ${namespace}`;
}
