import { parseArgs, type ParseArgsConfig } from 'node:util';

/** The arguments of a script, which does nothing where it does not know one: it ends with a word about it, or about all for `--help`. */
export function argumentsOf<T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(`usage: ${usage}`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\nusage: ${usage}`);
    process.exit(2);
  }
}

/** Of a script that takes at most so many words, and no options. */
export function wordsOf(usage: string, most: number): readonly string[] {
  const { positionals } = argumentsOf(usage, { options: {}, allowPositionals: true });
  if (positionals.length <= most) return positionals;
  console.error(`There are too many arguments: ${positionals.slice(most).join(' ')}\nusage: ${usage}`);
  process.exit(2);
}
