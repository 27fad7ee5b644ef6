import { Argument, Option, type Command } from 'commander';
import type { GenerateLinkOptions } from '../actions/link-actions.ts';
import { outputOption, positiveInteger, timeoutOption } from './options.ts';
import { deleteVerb, resourceCommands, statusVerb, targetOf, updateVerb, type Verb } from './resource-commands.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot link`. Links are created by redeeming tokens, or by applying the output of `generate` at the other site. */
export function addLink(program: Command, terminal: Terminal): void {
  resourceCommands(program, terminal, 'Link', 'ways to other sites', [
    updateVerb({
      description: 'change a link while it runs',
      examples: ['earshot link update west-6bfn6 --cost 10'],
      arguments: [nameOnly],
      options: [cost, new Option('--tls-credentials <name>', 'TLS bundle by which the two sites know each other')],
      wait: 'ready',
    }),
    deleteVerb({
      description: 'remove a link, and the token that it came of or is to come of',
      examples: ['earshot link delete west-6bfn6'],
      arguments: [nameOnly],
      action: async () => (await import('../actions/link-tokens.ts')).deleteLink,
    }),
    renew,
    statusVerb(
      'show all links of this site, and the tokens that are to become links; or one',
      ['earshot link status', 'earshot link status west-6bfn6 -o yaml'],
      async () => (await import('../actions/link-tokens.ts')).showLinks,
    ),
    generate,
  ]);
}

const nameOnly = new Argument('<name>', 'name of the link');
const cost = new Option('--cost <number>', 'cost of the path over the link; the least is taken').argParser(positiveInteger);

const renew: Verb = {
  name: 'renew',
  description: 'get a new key and certificate for a link now; no connection is lost',
  examples: ['earshot link renew west-6bfn6'],
  remark: `Certificates of links are renewed by themselves, long before they end. In the first half of a certificate's life the
other site gives a new one now and then only: if it has done so a moment ago, the command says so.`,
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
  remark: `Whoever has what it prints can link to this site: treat it as a key. A token (\`earshot token issue FILE\`) is safer, since
it expires and its certificate is renewed.`,
  arguments: [new Argument('[name]', 'name of the link; left out: made from the access that it leads to')],
  options: [
    cost,
    new Option('--host <host>', "which of this site's names and addresses it is to use"),
    new Option('--tls-credentials <name>', 'name of the TLS bundle (in a cluster a Secret) in what is printed'),
    new Option('--no-generate-credential', 'print the Link alone: the other site has the bundle of --tls-credentials already'),
    timeoutOption(),
    outputOption('format').default('yaml'),
  ],
  run: async (at, options: GenerateLinkOptions, link) => {
    const { generateLink } = await import('../actions/link-actions.ts');
    await generateLink(await targetOf(at), link, options);
  },
};
