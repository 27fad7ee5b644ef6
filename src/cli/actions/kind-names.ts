/** Kind names in kubectl's forms: `listener`, `Listener`, `listeners`, `lnr`. */
import { skupperDefinitions } from '../../api/skupper/crds.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { networkObserverDefinition } from '../../api/skupper/network-observer-definition.ts';
import { networkObservers } from '../../api/skupper/network-observer.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import type { KeyedKind } from '../../site/resources.ts';
import { didYouMean } from '../../text/nearest.ts';
import { quoted } from '../../text/printable.ts';
import { sentence } from '../../text/sentence.ts';
import { CliError } from '../errors.ts';

/** @throws CliError usage */
export function kindNamed(word: string): SkupperKind {
  return findKind(word, skupperDefinitions(), isSkupperKind);
}

/** Kinds with conditions that a command can wait for. @throws CliError usage */
export function keyedKindNamed(word: string): KeyedKind {
  const isKeyedKind = (kind: string): kind is KeyedKind => isSkupperKind(kind) || kind === networkObservers.kind;
  return findKind(word, [...skupperDefinitions(), networkObserverDefinition()], isKeyedKind);
}

function findKind<K extends string>(word: string, definitions: readonly NamedDefinition[], isKind: (kind: string) => kind is K): K {
  const lower = word.toLowerCase();
  for (const { spec } of definitions) {
    const { kind, singular, plural, shortNames = [] } = spec.names;
    if (isKind(kind) && [singular, plural, ...shortNames].includes(lower)) return kind;
  }
  const kinds = definitions.map(({ spec }) => spec.names.kind);
  throw new CliError('usage', `The kind ${quoted(word)} does not exist; kinds are ${kinds.join(', ')}${sentence(didYouMean(word, kinds))}`);
}

/** The error of a kind that machines do not have. */
export function notHere(word: string): CliError {
  return new CliError('usage', `The kind ${quoted(word)} exists only in a cluster: select one with --platform kubernetes.`);
}

type NamedDefinition = ReturnType<typeof skupperDefinitions>[number];

/** The singular name of each kind that the command accepts. */
export function kindWords(command: string): readonly string[] {
  const definitions = [...skupperDefinitions(), ...(command === 'wait' ? [networkObserverDefinition()] : [])];
  return definitions.map(({ spec }) => spec.names.singular);
}

export interface Named<K extends KeyedKind = SkupperKind> {
  readonly kind: K;
  readonly name: string;
}

/**
 * Parses `listener/a link/b` or `listener a b`.
 * @param kindOf kind of a word
 * @param otherwise what else the command accepts, for messages
 * @throws CliError usage
 */
export function namedIn<K extends KeyedKind>(words: readonly string[], kindOf: (word: string) => K, otherwise = ''): readonly Named<K>[] {
  const [first, ...names] = words;
  if (first === undefined) throw new CliError('usage', `No resource is named: give KIND/NAME or KIND NAME${otherwise}.`);
  if (!first.includes('/')) {
    if (names.length === 0) throw new CliError('usage', `No ${first} is named: give ${first}/NAME${otherwise}.`);
    const kind = kindOf(first);
    return names.map((name) => ({ kind, name }));
  }
  return words.map((word) => {
    const [kind = '', name = '', ...more] = word.split('/');
    if (name === '' || more.length > 0)
      throw new CliError('usage', `${quoted(word)} is not a resource: give KIND/NAME, such as link/west.`);
    return { kind: kindOf(kind), name };
  });
}
