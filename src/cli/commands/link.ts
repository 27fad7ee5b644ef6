import { Argument, Option, type Command } from 'commander';
import type { GenerateLinkOptions } from '../actions/link-actions.ts';
import { outputOption, positiveInteger, timeoutOption } from './options.ts';
import { deleteVerb, resourceCommands, statusVerb, targetOf, updateVerb, type Verb } from './resource-commands.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot link`. Links are created by redeeming tokens, or by applying the output of `generate` at the other site. */
export function addLink(program: Command, terminal: Terminal): void {
  resourceCommands(program, terminal, 'Link', 'manage links to other sites', [
    updateVerb({
      description: 'change a link while it runs',
      examples: ['earshot link update west-6bfn6 --cost 10', 'earshot link update west-6bfn6 --host 192.0.2.9'],
      arguments: [nameOnly],
      options: [
        new Option('--host <host>', 'name or address of the other site, in place of those that the link has'),
        cost,
        new Option('--tls-credentials <name>', 'TLS bundle that authenticates the two sites'),
      ],
      wait: 'ready',
      action: async () => (await import('../actions/link-actions.ts')).updateLink,
    }),
    deleteVerb({
      description: 'delete a link, and the token from which it was or will be created',
      examples: ['earshot link delete west-6bfn6'],
      arguments: [nameOnly],
      action: async () => (await import('../actions/link-tokens.ts')).deleteLink,
    }),
    renew,
    statusVerb(
      'show all links of this site and the tokens that are being redeemed, or one of them',
      ['earshot link status', 'earshot link status west-6bfn6 -o yaml'],
      async () => (await import('../actions/link-tokens.ts')).showLinks,
    ),
    generate,
  ]);
}

const nameOnly = new Argument('<name>', 'name of the link');
const cost = new Option('--cost <number>', 'cost of the link; connections take the path of the lowest cost').argParser(positiveInteger);

const renew: Verb = {
  name: 'renew',
  description: 'get a new key and certificate for a link now; no connection is lost',
  examples: ['earshot link renew west-6bfn6'],
  remark: `Certificates of links are renewed automatically, long before they expire. In the first half of a certificate's lifetime
the other site issues new ones at a limited rate. If that limit is reached, the command reports it.`,
  arguments: [nameOnly],
  options: [timeoutOption()],
  run: async (at, { timeout }: { readonly timeout: number }, link: string) => {
    const { renewLink } = await import('../actions/link-renew.ts');
    await renewLink(await targetOf(at), link, timeout);
  },
};

const generate: Verb = {
  name: 'generate',
  description: 'print a link to this site, with its key, for another site to apply',
  examples: [
    'earshot link generate > link-to-west.yaml',
    'earshot link generate to-west --host west.example.com --cost 5 > link-to-west.yaml',
  ],
  remark: `The output permits a link to this site: treat it as a key. A token (\`earshot token issue FILE\`) is safer, since
it expires and its certificate is renewed.`,
  arguments: [new Argument('[name]', 'name of the link (default: from the access that it leads to)')],
  options: [
    cost,
    new Option('--host <host>', 'name or address of this site that the link uses'),
    new Option('--name <access>', 'RouterAccess that the link leads to (default: any)'),
    new Option('--tls-credentials <name>', 'name of the TLS bundle (in a cluster a Secret) in the output'),
    new Option('--no-generate-credential', 'print only the Link: the other site already has the bundle of --tls-credentials'),
    timeoutOption(),
    outputOption('format').default('yaml'),
  ],
  run: async (at, options: GenerateLinkOptions, link) => {
    const { generateLink } = await import('../actions/link-actions.ts');
    await generateLink(await targetOf(at), link, options);
  },
};
