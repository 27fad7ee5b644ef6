import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import type { SpecChange } from '../actions/resource-actions.ts';
import { clusterOf, duration, durationText, namespaceOf, servicePort } from './options.ts';
import { createVerb, deleteVerb, generateVerb, resourceCommands, statusVerb, updateVerb, type Verb } from './resource-commands.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot site`. */
export function addSite(program: Command, terminal: Terminal): void {
  resourceCommands(program, terminal, 'Site', 'this namespace as a place in the network', [
    createVerb({
      description: 'make the site of the namespace',
      examples: ['earshot site create west --enable-link-access'],
      arguments: [nameOnly],
      ...written,
      wait: 'ready',
      saysWhere: true,
      within: { text: '60s, in a cluster 3m', of: (ways) => ways.siteReadyWithin },
      action: async () => (await import('../actions/site-actions.ts')).createSite,
    }),
    updateVerb({
      description: 'change the site while it runs',
      examples: ['earshot site update --enable-link-access', 'earshot site update --no-enable-link-access'],
      arguments: [nameIfAny],
      ...written,
      wait: 'ready',
      action: async () => (await import('../actions/site-actions.ts')).updateSite,
    }),
    deleteVerb({
      description: 'remove the site, which ends its links and connections',
      examples: ['earshot site delete', 'earshot site delete --all'],
      arguments: [nameIfAny],
      options: [new Option('--all', "remove the namespace's other resources too")],
      action: async () => (await import('../actions/site-actions.ts')).deleteSite,
    }),
    statusVerb(
      'show the site, and which others it has revoked',
      ['earshot site status', 'earshot site status -o yaml'],
      async () => (await import('../actions/site-actions.ts')).showSite,
    ),
    generateVerb({
      description: 'print a site, and make nothing',
      examples: ['earshot site generate west --enable-link-access > west.yaml'],
      arguments: [nameOnly],
      ...written,
    }),
    revoke,
    unrevoke,
  ]);
}

const nameOnly = new Argument('<name>', 'name of the site');
const nameIfAny = new Argument('[name]', 'name of the site; left out: that of the namespace');
const otherSite = new Argument('<site>', 'name or id of the other site; or the serial number of a certificate');

const revoke: Verb = {
  name: 'revoke',
  description: "end another site's links to this one, at once and for good",
  examples: ['earshot site revoke east'],
  remark: `Its certificates, its tokens and its renewals are refused from now on. Links that this site opened to it end too, and
are to be deleted with \`earshot link delete NAME\`. Other sites go on as before. It returns once the routers of this site that run refuse them
and nothing of it is open here any more.`,
  arguments: [otherSite],
  run: async ({ command, terminal }, _options, site: string) => {
    await using cluster = await clusterOf(command);
    if (cluster !== undefined) {
      const { revokeInCluster } = await import('../actions/cluster-revocations.ts');
      await revokeInCluster(cluster, site, terminal);
      return;
    }
    const { revokeSite } = await import('../actions/site-actions.ts');
    await revokeSite(namespaceOf(command), site, terminal);
  },
};

const unrevoke: Verb = {
  name: 'unrevoke',
  description: 'let a site that was revoked link again',
  examples: ['earshot site unrevoke east'],
  arguments: [otherSite],
  run: async ({ command, terminal }, _options, site: string) => {
    await using cluster = await clusterOf(command);
    if (cluster !== undefined) {
      const { unrevokeInCluster } = await import('../actions/cluster-revocations.ts');
      await unrevokeInCluster(cluster, site, terminal);
      return;
    }
    const { unrevokeSite } = await import('../actions/site-actions.ts');
    await unrevokeSite(namespaceOf(command), site, terminal);
  },
};

const written = {
  options: [
    new Option('--enable-link-access', 'let other sites link to this one'),
    new Option('--no-enable-link-access', 'let none'),
    new Option(
      '--link-access-type <type>',
      'how they reach it, in a cluster: default, route, loadbalancer, listenerclass:NAME and others; without one, default is all there is',
    ),
    new Option('--enable-ha', 'run two routers, so that one can go away; without a cluster you start the second'),
    new Option('--no-enable-ha', 'run one'),
    new Option('--edge', 'link to others and carry nothing between them'),
    new Option('--no-edge', 'be an ordinary site'),
    new Option('--default-issuer <name>', 'certificate authority below input/issuers to sign with; in a cluster a Secret'),
    new Option('--grant-port <port>', 'port where tokens are redeemed; at first 9090').argParser(servicePort),
    new Option(
      '--link-certificate-lifetime <duration>',
      'for how long other sites get certificates; at first 720h, which is 30 days',
    ).argParser(lifetime),
  ],
  spec: specOf,
} as const;

/** Checks the minimum that the site accepts (`settings.link-certificate-lifetime`). */
function lifetime(text: string): string {
  if (duration(text) < 10_000) throw new InvalidArgumentError('It must be 10s at least.');
  return durationText(text);
}

function specOf({
  enableLinkAccess,
  linkAccessType,
  enableHa,
  edge,
  defaultIssuer,
  grantPort,
  linkCertificateLifetime,
}: SpecChange): SpecChange {
  const usual = enableLinkAccess === undefined ? undefined : enableLinkAccess === true ? 'default' : 'none';
  const settings = {
    ...(grantPort === undefined ? {} : { 'grant-port': String(grantPort) }),
    ...(linkCertificateLifetime === undefined ? {} : { 'link-certificate-lifetime': linkCertificateLifetime }),
  };
  const given = Object.keys(settings).length === 0 ? undefined : settings;
  return { linkAccess: linkAccessType ?? usual, ha: enableHa, edge, defaultIssuer, settings: given };
}
