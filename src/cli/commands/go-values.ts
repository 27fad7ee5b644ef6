/** Converts `--flag=true`, `--flag=false` and `-f=value`, which Go programs accept, to the form that commander knows. Pure. */
import type { Command, Option } from 'commander';

/** The properties of a commander option that are needed here. */
type Flag = Pick<Option, 'long' | 'short' | 'required' | 'optional' | 'negate'>;

/** Values that Go's strconv.ParseBool accepts. */
const VALUES: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((word) => [word, false] as const),
]);

/** Accepts these forms for this command and all of its subcommands. */
export function acceptGoValues(command: Command): void {
  const parse = command.parseOptions.bind(command);
  command.parseOptions = (words) => parse(withoutGoValues(words, command.options, (message) => command.error(`error: ${message}`)));
  command.commands.forEach(acceptGoValues);
}

/**
 * Rewrites each boolean option to `--flag` or `--no-flag`, or drops it if the default is requested. The last one wins. A short
 * option with `=` gets its long form.
 * @param refuse ends the command
 */
export function withoutGoValues(words: readonly string[], flags: readonly Flag[], refuse: (message: string) => never): string[] {
  const taken: string[] = [];
  let isValue = false;
  for (const [index, word] of words.entries()) {
    if (word === '--') return [...taken, ...words.slice(index)];
    const isOfValue = isValue;
    const found = isValue ? undefined : booleanIn(word, flags, refuse);
    isValue = !isValue && flags.some((flag) => flag.required && (flag.long === word || flag.short === word));
    if (found === undefined) {
      taken.push(isOfValue ? word : longForm(word, flags));
      continue;
    }
    const { positive, negative, on } = found;
    const opposite = on ? negative : positive;
    if (opposite !== undefined) taken.splice(0, taken.length, ...taken.filter((before) => before !== opposite));
    const said = on ? positive : negative;
    if (said !== undefined) taken.push(said);
  }
  return taken;
}

/** `-n=west` as `--namespace=west`. */
function longForm(word: string, flags: readonly Flag[]): string {
  const [, short, value = ''] = /^(-[A-Za-z])=(.*)$/s.exec(word) ?? [];
  const long = flags.find((flag) => (flag.required || flag.optional) && flag.short === short)?.long;
  return short === undefined || long === undefined || long === null ? word : `${long}=${value}`;
}

interface Found {
  /** `--flag`, if there is such an option. */
  readonly positive: string | undefined;
  /** `--no-flag`, if there is such an option. */
  readonly negative: string | undefined;
  readonly on: boolean;
}

function booleanIn(word: string, flags: readonly Flag[], refuse: (message: string) => never): Found | undefined {
  const [, typed = '', value] = /^(--?[A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? [];
  const booleans = flags.filter(({ required, optional }) => !required && !optional);
  const long = booleans.find((flag) => flag.short === typed)?.long ?? typed;
  const isNegated = booleans.some((flag) => flag.negate && flag.long === long);
  const base = isNegated ? long.replace(/^--no-/, '') : long.slice(2);
  const has = (name: string): string | undefined => (booleans.some((flag) => flag.long === name) ? name : undefined);
  const [positive, negative] = [has(`--${base}`), has(`--no-${base}`)];
  if (positive === undefined && negative === undefined) return undefined;
  const given = value === undefined ? true : VALUES.get(value);
  if (given === undefined) return refuse(`option '${typed}' must be true or false, not '${value ?? ''}'`);
  return { positive, negative, on: given !== isNegated };
}
