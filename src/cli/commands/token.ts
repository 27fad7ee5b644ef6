import { DEFAULT_EXPIRATION_WINDOW } from '../../api/skupper/names.ts';
import { Option, type Command } from 'commander';
import {
  addPlace,
  contextOf,
  durationText,
  examples,
  mentionSeveral,
  outputOption,
  positiveInteger,
  sayWhere,
  timeoutOption,
  type OutputOptions,
} from './options.ts';
import type { DeleteOptions } from '../actions/resource-actions.ts';
import type { IssueOptions, RedeemOptions } from '../actions/token-actions.ts';
import type { Context } from '../actions/waiting.ts';
import type { Terminal } from '../output/terminal.ts';

/** For the first command on a new machine. */
const createSiteOption = (): Option =>
  new Option('--create-site <name>', 'first create this site and the service that runs it, unless they exist; on machines');

async function siteContext(
  command: Command,
  terminal: Terminal,
  { createSite }: { readonly createSite?: string | undefined },
): Promise<Context> {
  if (createSite === undefined) return contextOf(command, terminal);
  const context = await contextOf(command, terminal, true);
  await sayWhere(command, context);
  return context;
}

/** `earshot token`: one site issues a token, another redeems it, which creates a link. */
export function addToken(program: Command, terminal: Terminal): void {
  const token = program.command('token').description('issue and redeem link tokens');

  addPlace(
    token
      .command('issue')
      .description('write a token that lets another site link to this one')
      .argument('<file>', 'file to write; - for standard output')
      .addOption(new Option('--redemptions-allowed <number>', 'number of times it can be redeemed (default: 1)').argParser(positiveInteger))
      .addOption(
        new Option(
          '--expiration-window <duration>',
          `time during which it can be redeemed (default: ${DEFAULT_EXPIRATION_WINDOW})`,
        ).argParser(durationText),
      )
      .addOption(new Option('--cost <number>', 'cost of the resulting link (default: 1)').argParser(positiveInteger))
      .option('--host <host>', 'name or address of this site that the link tries first (default: the first address)')
      .addOption(new Option('--link-cost <number>').argParser(positiveInteger).hideHelp())
      .option('--grant <name>', 'use this AccessGrant instead of a new one')
      .option('--name <name>', "name of the token and of the link (default: from the site's name)")
      .addOption(createSiteOption())
      .addOption(timeoutOption()),
  )
    .addHelpText(
      'after',
      examples(
        'earshot token issue token.yaml',
        'earshot token issue token.yaml --create-site west',
        'earshot token issue token.yaml --host 198.51.100.1',
        'earshot token issue token.yaml --redemptions-allowed 3 --expiration-window 24h',
      ),
    )
    .action(async (file: string, { linkCost, ...options }: IssueOptions & { readonly linkCost?: number }, command: Command) => {
      const { issueToken } = await import('../actions/token-actions.ts');
      await issueToken(
        await siteContext(command, terminal, options),
        file,
        linkCost === undefined ? options : { cost: linkCost, ...options },
      );
    });

  addPlace(
    token
      .command('status')
      .description('show the tokens that this site has issued (as AccessGrants) and those that it redeems, or one of them')
      .argument('[name]', 'name of the token (default: all)')
      .addOption(outputOption()),
  )
    .addHelpText('after', examples('earshot token status', 'earshot token status west-6bfn6'))
    .action(async (name: string | undefined, { output }: OutputOptions, command: Command) => {
      const { showTokens } = await import('../actions/token-list.ts');
      await showTokens(await contextOf(command, terminal), name, output);
    });

  const remove = addPlace(
    token
      .command('delete')
      .description('withdraw a token, so that it cannot be redeemed; its links stay')
      .argument('<name>', 'name of the token')
      .option('--no-wait', 'do not wait for the end of the deletion')
      .addOption(timeoutOption()),
  ).addHelpText('after', examples('earshot token delete west-6bfn6'));
  mentionSeveral(remove, 'earshot delete accessgrant NAME...').action(async (name: string, options: DeleteOptions, command: Command) => {
    const { deleteToken } = await import('../actions/token-list.ts');
    await deleteToken(await contextOf(command, terminal), name, options);
  });

  addPlace(
    token
      .command('redeem')
      .description('create a link to the site that issued the token')
      .argument('<file>', 'token file; - for standard input')
      .addOption(new Option('--link-cost <number>', 'cost of the link (default: from the token)').argParser(positiveInteger))
      .option('--name <name>', 'name of the link (default: the name of the token)')
      .addOption(createSiteOption())
      .addOption(timeoutOption()),
  )
    .addHelpText(
      'after',
      examples(
        'earshot token redeem token.yaml',
        'earshot token redeem token.yaml --create-site east',
        'ssh west earshot token issue - | earshot token redeem -',
      ),
    )
    .action(async (file: string, options: RedeemOptions, command: Command) => {
      const { redeemTokenFile } = await import('../actions/token-actions.ts');
      await redeemTokenFile(await siteContext(command, terminal, options), file, options);
    });
}
