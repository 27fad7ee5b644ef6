import { Option, type Command } from 'commander';
import { addWaiting, contextOf, outputOption, positiveInteger, timeoutOption } from './options.ts';
import { addDelete, addStatus, subcommand, targetOf, type ResourceCommand } from './resource-command.ts';
import type { GenerateLinkOptions } from '../actions/link-actions.ts';
import type { WaitOptions } from '../actions/waiting.ts';
import type { Terminal } from '../output/terminal.ts';

interface LinkOptions {
  readonly cost?: number;
  readonly tlsCredentials?: string;
}

/** `earshot link`. Links are made by redeeming tokens, or by applying what `generate` prints at the other site. */
export function addLink(program: Command, terminal: Terminal): void {
  const group = program.command('link').description('ways to other sites');
  const of: ResourceCommand<'Link'> = { group, kind: 'Link', terminal };

  const update = subcommand(of, 'update', 'change a link while it runs', 'earshot link update west-6bfn6 --cost 10')
    .argument('<name>', 'name of the link')
    .addOption(cost())
    .option('--tls-credentials <name>', 'TLS bundle by which the two sites know each other');
  addWaiting(update, 'ready').action(async (name: string, options: LinkOptions & WaitOptions, command: Command) => {
    const { updateResource } = await import('../actions/resource-actions.ts');
    await updateResource(
      await targetOf(of, command),
      name,
      { cost: options.cost, tlsCredentials: options.tlsCredentials },
      'ready',
      options,
    );
  });

  addDelete(of, 'remove a link, and the token that it came of', 'earshot link delete west-6bfn6', 'name of the link');

  subcommand(of, 'renew', 'get a new key and certificate for a link now; no connection is lost', 'earshot link renew west-6bfn6')
    .argument('<name>', 'name of the link')
    .addOption(timeoutOption())
    .addHelpText('after', '\nCertificates of links are renewed by themselves, long before they end.')
    .action(async (name: string, { timeout }: { readonly timeout: number }, command: Command) => {
      const { renewLink } = await import('../actions/link-renew.ts');
      await renewLink(await contextOf(command, terminal), name, timeout);
    });

  addStatus(of, 'show all links of this site, or one', 'earshot link status', 'earshot link status west-6bfn6 -o yaml');

  subcommand(
    of,
    'generate',
    'print a link to this site, with its key, for another site to apply',
    'earshot link generate > link-to-west.yaml',
    'earshot link generate to-west --host west.example.com --cost 5 > link-to-west.yaml',
  )
    .argument('[name]', 'name of the link; left out: made from the access that it leads to')
    .addOption(cost())
    .option('--host <host>', "which of this site's names and addresses it is to use")
    .addOption(timeoutOption())
    .addOption(outputOption('format').default('yaml'))
    .addHelpText(
      'after',
      '\nWhoever has what it prints can link to this site: treat it as a key. A token (`earshot token issue`) is safer, since' +
        '\nit expires and its certificate is renewed.',
    )
    .action(async (name: string | undefined, options: GenerateLinkOptions, command: Command) => {
      const { generateLink } = await import('../actions/link-actions.ts');
      await generateLink(await contextOf(command, terminal), name, options);
    });
}

function cost(): Option {
  return new Option('--cost <number>', 'cost of the path over the link; the least is taken').argParser(positiveInteger);
}
