/**
 * A command for the person to type, as it works in that namespace: in backticks, as messages show commands. `test/unit/cli/proposals.test.ts`
 * types each of them.
 */
export function commandIn(namespace: string, words: string): string {
  const isUsual = namespace === 'default' && (process.env['EARSHOT_NAMESPACE'] ?? '') === '';
  return `\`earshot${isUsual ? '' : ` -n ${namespace}`} ${words}\``;
}
