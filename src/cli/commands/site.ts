import { InvalidArgumentError, Option, type Command } from 'commander';
import { addWaiting, duration, durationText, namespaceOf, outputOption, servicePort, timeoutOption } from './options.ts';
import type { WaitOptions } from '../actions/waiting.ts';
import type { OutputFormat } from '../output/output.ts';
import type { SpecChange } from '../actions/resource-actions.ts';
import { addStatus, subcommand, targetOf, type ResourceCommand } from './resource-command.ts';
import type { Terminal } from '../output/terminal.ts';

interface SiteOptions {
  readonly enableLinkAccess?: boolean;
  readonly linkAccessType?: string;
  readonly enableHa?: boolean;
  readonly edge?: boolean;
  readonly defaultIssuer?: string;
  readonly grantPort?: number;
  readonly linkCertificateLifetime?: string;
}

/** `earshot site`. */
export function addSite(program: Command, terminal: Terminal): void {
  const group = program.command('site').description('this namespace as a place in the network');
  const of: ResourceCommand<'Site'> = { group, kind: 'Site', terminal };

  const create = subcommand(of, 'create', 'make the site of the namespace', 'earshot site create west --enable-link-access').argument(
    '<name>',
    'name of the site',
  );
  addWaiting(addOptions(create), 'ready').action(async (name: string, options: SiteOptions & WaitOptions, command: Command) => {
    const { createSite } = await import('../actions/site-actions.ts');
    await createSite(await targetOf(of, command), name, changeOf(options), 'ready', options);
  });

  const update = subcommand(
    of,
    'update',
    'change the site while it runs',
    'earshot site update --enable-link-access',
    'earshot site update --no-enable-link-access',
  );
  addWaiting(addOptions(update.argument('[name]', 'name of the site; left out: that of the namespace')), 'ready').action(
    async (name: string | undefined, options: SiteOptions & WaitOptions, command: Command) => {
      const { updateSite } = await import('../actions/site-actions.ts');
      await updateSite(await targetOf(of, command), name, changeOf(options), 'ready', options);
    },
  );

  subcommand(of, 'delete', 'remove the site, which ends its links and connections', 'earshot site delete', 'earshot site delete --all')
    .argument('[name]', 'name of the site; left out: that of the namespace')
    .option('--all', "remove the namespace's other resources too")
    .option('--no-wait', 'do not wait until it is gone')
    .addOption(timeoutOption())
    .action(
      async (
        name: string | undefined,
        options: { readonly all?: boolean; readonly wait: boolean; readonly timeout: number },
        command: Command,
      ) => {
        const { deleteSite } = await import('../actions/site-actions.ts');
        await deleteSite(await targetOf(of, command), name, options);
      },
    );

  addStatus(of, 'show the site', 'earshot site status', 'earshot site status -o yaml');

  addOptions(subcommand(of, 'generate', 'print a site, and make nothing', 'earshot site generate west --enable-link-access > west.yaml'))
    .argument('<name>', 'name of the site')
    .addOption(outputOption('format').default('yaml'))
    .action(async (name: string, options: SiteOptions & { readonly output: OutputFormat }) => {
      const { generateResource } = await import('../actions/resource-actions.ts');
      generateResource(terminal, 'Site', name, changeOf(options), options.output);
    });

  subcommand(of, 'revoke', "end another site's links to this one, at once and for good", 'earshot site revoke east')
    .argument('<site>', 'name or id of the other site')
    .addHelpText(
      'after',
      '\nIts certificates, its tokens and its renewals are refused from now on. Links that this site opened to it end too, and' +
        '\nare to be deleted with `earshot link delete`. Other sites go on as before.',
    )
    .action(async (site: string, _options: object, command: Command) => {
      const { revokeSite } = await import('../actions/site-actions.ts');
      await revokeSite(namespaceOf(command), site, terminal);
    });

  subcommand(of, 'unrevoke', 'let a site that was revoked link again', 'earshot site unrevoke east')
    .argument('<site>', 'name or id of the other site')
    .action(async (site: string, _options: object, command: Command) => {
      const { unrevokeSite } = await import('../actions/site-actions.ts');
      await unrevokeSite(namespaceOf(command), site, terminal);
    });
}

function addOptions(command: Command): Command {
  return command
    .option('--enable-link-access', 'let other sites link to this one')
    .option('--no-enable-link-access', 'let none')
    .option('--link-access-type <type>', 'how they reach it; without a cluster, default is all there is')
    .option('--enable-ha', 'run two routers, so that one can go away; without a cluster you start the second')
    .option('--no-enable-ha', 'run one')
    .option('--edge', 'link to others and carry nothing between them')
    .option('--no-edge', 'be an ordinary site')
    .option('--default-issuer <name>', 'certificate authority below input/issuers to sign with')
    .addOption(new Option('--grant-port <port>', 'port where tokens are redeemed; at first 9090').argParser(servicePort))
    .addOption(
      new Option(
        '--link-certificate-lifetime <duration>',
        'for how long other sites get certificates; at first 720h, which is 30 days',
      ).argParser(lifetime),
    );
}

/** As short as the site takes it (`settings.link-certificate-lifetime`). */
function lifetime(text: string): string {
  if (duration(text) < 10_000) throw new InvalidArgumentError('It must be 10s at least.');
  return durationText(text);
}

function changeOf(options: SiteOptions): SpecChange {
  const { enableLinkAccess, linkAccessType, enableHa, edge, defaultIssuer, grantPort, linkCertificateLifetime } = options;
  const usual = enableLinkAccess === undefined ? undefined : enableLinkAccess ? 'default' : 'none';
  const settings = {
    ...(grantPort === undefined ? {} : { 'grant-port': String(grantPort) }),
    ...(linkCertificateLifetime === undefined ? {} : { 'link-certificate-lifetime': linkCertificateLifetime }),
  };
  const given = Object.keys(settings).length === 0 ? undefined : settings;
  const change = { linkAccess: linkAccessType ?? usual, ha: enableHa, edge, defaultIssuer, settings: given };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
