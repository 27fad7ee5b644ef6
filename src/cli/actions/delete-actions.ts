/** `earshot delete KIND NAME`. */
import { CliError } from '../errors.ts';
import { kindNamed } from './kind-names.ts';
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
