/** Kind names in kubectl's forms: `listener`, `Listener`, `listeners`, `lnr`. */
import { skupperDefinitions } from '../../api/skupper/crds.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import { didYouMean } from '../../text/nearest.ts';
import { quoted } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { CliError } from '../errors.ts';

/** @throws CliError usage */
export function kindNamed(word: string): SkupperKind {
  const lower = word.toLowerCase();
  for (const { spec } of skupperDefinitions()) {
    const { kind, singular, plural, shortNames = [] } = spec.names;
    if (isSkupperKind(kind) && [singular, plural, ...shortNames].includes(lower)) return kind;
  }
  const kinds = skupperDefinitions().map(({ spec }) => spec.names.kind);
  throw new CliError('usage', `The kind ${quoted(word)} does not exist; kinds are ${kinds.join(', ')}${sentence(didYouMean(word, kinds))}`);
}

/** The singular name of each kind. */
export function kindWords(): readonly string[] {
  return skupperDefinitions().map(({ spec }) => spec.names.singular);
}

export interface Named {
  readonly kind: SkupperKind;
  readonly name: string;
}

/**
 * Parses `listener/a link/b` or `listener a b`.
 * @param otherwise what else the command accepts, for messages
 * @throws CliError usage
 */
export function namedIn(words: readonly string[], otherwise = ''): readonly Named[] {
  const [first, ...names] = words;
  if (first === undefined) throw new CliError('usage', `No resource is named: give KIND/NAME or KIND NAME${otherwise}.`);
  if (!first.includes('/')) {
    if (names.length === 0) throw new CliError('usage', `No ${first} is named: give ${first}/NAME${otherwise}.`);
    const kind = kindNamed(first);
    return names.map((name) => ({ kind, name }));
  }
  return words.map((word) => {
    const [kind = '', name = '', ...more] = word.split('/');
    if (name === '' || more.length > 0)
      throw new CliError('usage', `${quoted(word)} is not a resource: give KIND/NAME, such as link/west.`);
    return { kind: kindNamed(kind), name };
  });
}
