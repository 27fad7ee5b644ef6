/** Tokens that a site issued, stored as AccessGrants, and tokens that it redeems. */
import { commandIn } from '../../text/command-in.ts';
import { CliError } from '../errors.ts';
import { listOf, resourceTable, structured, type OutputFormat } from '../output/output.ts';
import { deleteResource, showStatus, type DeleteOptions } from './resource-actions.ts';
import { noteWhereStopped, type Context } from './waiting.ts';

const KINDS = ['AccessGrant', 'AccessToken'] as const;

export async function showTokens(context: Context, name: string | undefined, output: OutputFormat | undefined): Promise<void> {
  if (name !== undefined) {
    await showStatus({ ...context, kind: await kindOf(context, name) }, name, output);
    return;
  }
  const { resources, terminal } = context;
  const [grants, tokens] = await Promise.all([resources.list('AccessGrant'), resources.list('AccessToken')]);
  await noteWhereStopped(context);
  if (output !== undefined) return terminal.out(structured(listOf([...grants, ...tokens]), output));
  const sections = [
    ...(grants.length === 0 ? [] : [`Issued here\n${resourceTable('AccessGrant', grants)}`]),
    ...(tokens.length === 0 ? [] : [`Redeemed here\n${resourceTable('AccessToken', tokens)}`]),
  ];
  terminal.out(sections.length === 0 ? `The namespace ${resources.namespace} has no tokens.\n` : sections.join('\n'));
}

export async function deleteToken(context: Context, name: string, options: DeleteOptions): Promise<void> {
  await deleteResource({ ...context, kind: await kindOf(context, name) }, name, options);
}

/** @throws CliError if neither kind or both kinds have an object of that name */
async function kindOf({ resources }: Context, name: string): Promise<(typeof KINDS)[number]> {
  const names = await Promise.all(KINDS.map(async (kind) => (await resources.list(kind)).map(({ metadata }) => metadata.name)));
  const [kind, other] = KINDS.filter((_, index) => names[index]?.includes(name));
  if (kind === undefined) {
    throw new CliError(
      'not-found',
      `Token "${name}" does not exist in this namespace; list all with ${commandIn(resources, 'token status')}.`,
    );
  }
  if (other === undefined) return kind;
  const [one, two] = KINDS.map((each) => commandIn(resources, `delete ${each} ${name}`));
  throw new CliError('usage', `An AccessGrant and an AccessToken have the name "${name}": use ${one} or ${two}.`);
}
