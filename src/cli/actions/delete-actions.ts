/** `earshot delete KIND NAME` and `earshot delete KIND/NAME`. */
import { CliError } from '../errors.ts';
import { kindNamed, namedIn } from './kind-names.ts';
import { deleteLink } from './link-tokens.ts';
import { deleteResource, type DeleteOptions } from './resource-actions.ts';
import type { Context } from './waiting.ts';

export interface DeleteNamedOptions extends DeleteOptions {
  readonly ignoreNotFound?: boolean;
}

/** @param words `listener web` or `listener/web` @throws CliError */
export async function deleteNamed(context: Context, words: readonly string[], options: DeleteNamedOptions): Promise<void> {
  const missing: CliError[] = [];
  for (const { kind, name } of namedIn(words, kindNamed)) {
    try {
      await (kind === 'Link' ? deleteLink : deleteResource)({ ...context, kind }, name, options);
    } catch (error) {
      if (!(error instanceof CliError) || error.code !== 'not-found') throw error;
      missing.push(error);
    }
  }
  if (missing.length > 0 && options.ignoreNotFound !== true)
    throw new CliError('not-found', missing.map(({ message }) => message).join('\n'));
}
