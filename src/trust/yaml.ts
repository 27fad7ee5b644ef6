/** Deeper than anything of ours; the parser works by recursion. */
const MAX_DEPTH = 32;

/**
 * The documents of a YAML text as plain values. Aliases are refused, since a few lines of them can stand for gigabytes; so
 * are tags. What `refuse` makes of a reason is thrown; a reason names the line, never what is in it.
 */
export async function parseYaml(text: string, refuse: (why: string) => Error): Promise<readonly unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  if (isDeep(text)) throw refuse(`it is nested more than ${MAX_DEPTH} deep`);
  const documents = attempt(() => parseAllDocuments(text, { prettyErrors: false, logLevel: 'silent', uniqueKeys: true }), refuse);
  return ('empty' in documents ? [] : documents).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      throw refuse(`line ${lineOf(text, error.pos[0])} is not YAML (${error.code.toLowerCase().replaceAll('_', ' ')})`);
    }
    // The number of aliases is checked when the value is made.
    const value: unknown = attempt(() => document.toJS({ maxAliasCount: 0 }), refuse);
    return value;
  });
}

function attempt<T>(parse: () => T, refuse: (why: string) => Error): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) throw refuse('it is nested too deep');
    throw refuse(error instanceof ReferenceError ? 'it has aliases (&, *)' : 'it is not YAML');
  }
}

const lineOf = (text: string, position: number): number => text.slice(0, position).split('\n').length;

/** Flow collections nest by brackets, block collections by indentation or by `- - -`: all are bounded before the parser runs. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth = Math.max(0, depth - 1);
    if (depth > MAX_DEPTH) return true;
  }
  return new RegExp(`^(?: {0,64}[-?:] ){${MAX_DEPTH},}`, 'm').test(text) || new Set(text.match(/^ +/gm)).size > MAX_DEPTH * 4;
}
