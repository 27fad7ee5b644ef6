/** `earshot delete KIND NAME`. */
import { skupperDefinitions } from '../../api/skupper/crds.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import { quoted } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import { deleteLink } from './link-tokens.ts';
import { deleteResource, type DeleteOptions } from './resource-actions.ts';
import type { Context } from './waiting.ts';

export interface DeleteNamedOptions extends DeleteOptions {
  readonly ignoreNotFound?: boolean;
}

export async function deleteNamed(context: Context, word: string, names: readonly string[], options: DeleteNamedOptions): Promise<void> {
  const target = { ...context, kind: kindNamed(word) };
  const missing: CliError[] = [];
  for (const name of names) {
    try {
      await (target.kind === 'Link' ? deleteLink : deleteResource)(target, name, options);
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'not-found') throw error;
      missing.push(error);
    }
  }
  const [first] = missing;
  if (first !== undefined && options.ignoreNotFound !== true) throw first;
}

/** As kubectl takes it: `listener`, `Listener`, `listeners`, `lnr`. @throws CliError usage */
function kindNamed(word: string): SkupperKind {
  const wanted = word.toLowerCase();
  for (const { spec } of skupperDefinitions()) {
    const { kind, singular, plural, shortNames = [] } = spec.names;
    if (isSkupperKind(kind) && [singular, plural, ...shortNames].includes(wanted)) return kind;
  }
  const kinds = skupperDefinitions().map(({ spec }) => spec.names.kind);
  throw new CliError('usage', `There is no kind ${quoted(word)}; there is ${kinds.join(', ')}.`);
}
