import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import type { SpecChange } from '../actions/resource-actions.ts';
import { clusterOf, duration, durationText, namespaceOf, servicePort } from './options.ts';
import { createVerb, deleteVerb, generateVerb, resourceCommands, statusVerb, updateVerb, type Verb } from './resource-commands.ts';
import { isRouterCount, ROUTER_COUNT } from '../../api/skupper/router-count.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot site`. */
export function addSite(program: Command, terminal: Terminal): void {
  resourceCommands(program, terminal, 'Site', 'manage the site', [
    createVerb({
      description: 'create the site of the namespace',
      examples: ['earshot site create west --enable-link-access'],
      arguments: [nameOnly],
      ...written,
      wait: 'ready',
      saysWhere: true,
      within: { text: '60s, in a cluster 3m', of: (conventions) => conventions.siteReadyWithin },
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
      description: 'delete the site, which ends its links and connections',
      examples: ['earshot site delete', 'earshot site delete --all'],
      arguments: [nameIfAny],
      options: [new Option('--all', 'delete the other resources of the namespace too')],
      action: async () => (await import('../actions/site-actions.ts')).deleteSite,
    }),
    statusVerb(
      'show the site and the sites that it has revoked',
      ['earshot site status', 'earshot site status -o yaml'],
      async () => (await import('../actions/site-actions.ts')).showSite,
    ),
    generateVerb({
      description: 'print a site and create nothing',
      examples: ['earshot site generate west --enable-link-access > west.yaml'],
      arguments: [nameOnly],
      ...written,
    }),
    revoke,
    unrevoke,
  ]);
}

const nameOnly = new Argument('<name>', 'name of the site');
const nameIfAny = new Argument('[name]', 'name of the site (default: the name of the namespace)');
const otherSite = new Argument('<site>', 'name or ID of the other site, or serial number of a certificate');

const revoke: Verb = {
  name: 'revoke',
  description: "end another site's links to this one immediately and permanently",
  examples: ['earshot site revoke east'],
  remark: `Its certificates, tokens and renewals are refused from now on. Links that this site opened to it end too: delete them
with \`earshot link delete NAME\`. Other sites are not affected. The command returns when all running routers of this site refuse the other
site and have closed its links and connections.`,
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
  description: 'allow a revoked site to link again',
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
    new Option('--enable-link-access', 'allow other sites to link to this one'),
    new Option('--no-enable-link-access', 'allow no links from other sites'),
    new Option(
      '--link-access-type <type>',
      'access type for other sites, in a cluster: default, route, loadbalancer, listenerclass:NAME and others; on a machine only default',
    ),
    new Option('--enable-ha', 'run two routers, so that one may fail'),
    new Option('--no-enable-ha', 'run one router'),
    new Option('--routers <number>', 'number of routers on a machine, or auto (default at creation: auto)').argParser(routers),
    new Option('--edge', 'link to other sites without forwarding connections between them'),
    new Option('--no-edge', 'forward connections between other sites'),
    new Option('--default-issuer <name>', 'certificate authority below input/issuers that signs certificates; in a cluster a Secret'),
    new Option('--grant-port <port>', 'port at which tokens are redeemed (default at creation: 9090)').argParser(servicePort),
    new Option(
      '--link-certificate-lifetime <duration>',
      "lifetime of other sites' certificates (default at creation: 720h, which is 30 days)",
    ).argParser(lifetime),
  ],
  spec: specOf,
} as const;

/** Checks the minimum that the site accepts (`settings.link-certificate-lifetime`). */
function lifetime(text: string): string {
  if (duration(text) < 10_000) throw new InvalidArgumentError('It must be at least 10s.');
  return durationText(text);
}

/** `settings.routers` of the Site. */
function routers(text: string): string {
  if (!isRouterCount(text)) throw new InvalidArgumentError(`It must be ${ROUTER_COUNT}.`);
  return text;
}

function specOf({
  enableLinkAccess,
  linkAccessType,
  enableHa,
  routers: count,
  edge,
  defaultIssuer,
  grantPort,
  linkCertificateLifetime,
}: SpecChange): SpecChange {
  const usual = enableLinkAccess === undefined ? undefined : enableLinkAccess === true ? 'default' : 'none';
  const settings = {
    ...(count === undefined ? {} : { routers: String(count) }),
    ...(grantPort === undefined ? {} : { 'grant-port': String(grantPort) }),
    ...(linkCertificateLifetime === undefined ? {} : { 'link-certificate-lifetime': linkCertificateLifetime }),
  };
  const given = Object.keys(settings).length === 0 ? undefined : settings;
  return { linkAccess: linkAccessType ?? usual, ha: enableHa, edge, defaultIssuer, settings: given };
}
