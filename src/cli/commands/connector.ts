import { Option, type Command } from 'commander';
import { addWaiting, outputOption, servicePort } from './options.ts';
import type { WaitOptions } from '../actions/waiting.ts';
import type { OutputFormat } from '../output/output.ts';
import type { SpecChange } from '../actions/resource-actions.ts';
import { addDelete, addStatus, subcommand, targetOf, type ResourceCommand } from './resource-command.ts';
import type { Terminal } from '../output/terminal.ts';

interface ConnectorOptions {
  readonly routingKey?: string;
  readonly host?: string;
  readonly selector?: string;
  readonly workload?: string;
  readonly port?: number;
  readonly tlsCredentials?: string;
  readonly useClientCert?: boolean;
  readonly verifyHostname?: boolean;
  readonly type?: string;
}

/** `earshot connector`. */
export function addConnector(program: Command, terminal: Terminal): void {
  const group = program.command('connector').description('servers at this site that listeners lead to');
  const of: ResourceCommand<'Connector'> = { group, kind: 'Connector', terminal };

  const create = subcommand(
    of,
    'create',
    'make a connector',
    'earshot connector create backend 8080 --host 127.0.0.1',
    'earshot connector create database 5432 --routing-key db --host db.internal --tls-credentials db-ca',
  );
  addWaiting(addClusterOptions(addOptions(withArguments(create))), 'configured').action(
    async (name: string, port: number, options: ConnectorOptions & WaitOptions, command: Command) => {
      requireNoPods(command, options);
      const { createResource } = await import('../actions/resource-actions.ts');
      await createResource(await targetOf(of, command), name, newSpec(name, port, options), 'configured', options);
    },
  );

  const update = subcommand(
    of,
    'update',
    'change a connector while it runs; an empty text takes an option back',
    'earshot connector update backend --host 192.0.2.7 --port 8081',
  ).argument('<name>', 'name of the connector');
  addClusterOptions(addOptions(update)).addOption(new Option('--port <port>', 'port of the server').argParser(servicePort));
  addWaiting(update, 'configured').action(async (name: string, options: ConnectorOptions & WaitOptions, command: Command) => {
    requireNoPods(command, options);
    const { updateResource } = await import('../actions/resource-actions.ts');
    await updateResource(await targetOf(of, command), name, changeOf(options), 'configured', options);
  });

  addDelete(of, 'remove a connector; open connections may end in their own time', 'earshot connector delete backend');
  addStatus(of, 'show all connectors, or one', 'earshot connector status', 'earshot connector status backend -o json');

  const generate = subcommand(
    of,
    'generate',
    'print a connector, and make nothing',
    'earshot connector generate backend 8080 --host 127.0.0.1 > backend.yaml',
    'earshot connector generate backend 8080 --selector app=backend | kubectl apply -f -',
  );
  addOptions(withArguments(generate))
    .option('--selector <labels>', 'pods that are the servers, for Kubernetes')
    .addOption(outputOption('format').default('yaml'))
    .action(async (name: string, port: number, options: ConnectorOptions & { readonly output: OutputFormat }) => {
      const { generateResource } = await import('../actions/resource-actions.ts');
      generateResource(terminal, 'Connector', name, newSpec(name, port, options), options.output);
    });
}

function withArguments(command: Command): Command {
  return command.argument('<name>', 'name of the connector').argument('<port>', 'port of the server', servicePort);
}

function addOptions(command: Command): Command {
  return command
    .option('--routing-key <key>', 'key by which listeners are found; at first the name')
    .option('--host <host>', 'name or address of the server; at first the name')
    .option('--tls-credentials <name>', 'TLS bundle below input/certs by which the server is verified')
    .option('--use-client-cert', 'show the certificate of that bundle to the server')
    .option('--no-use-client-cert', 'do not show it')
    .option('--verify-hostname', "the server's certificate must name the host (as it is unless told)")
    .option('--no-verify-hostname', 'it need not')
    .addOption(new Option('--type <type>', 'what is carried').choices(['tcp']));
}

/** Known from Kubernetes: whoever types them is told what to do here. */
function addClusterOptions(command: Command): Command {
  return command.addOption(new Option('--selector <labels>').hideHelp()).addOption(new Option('--workload <workload>').hideHelp());
}

function requireNoPods(command: Command, { selector, workload }: ConnectorOptions): void {
  if (selector === undefined && workload === undefined) return;
  command.error('error: there are no pods without a cluster: give the server with --host');
}

function newSpec(name: string, port: number, options: ConnectorOptions): SpecChange {
  const server = options.selector === undefined ? { host: name } : {};
  return { routingKey: name, port, ...server, ...changeOf(options) };
}

function changeOf(options: ConnectorOptions): SpecChange {
  const { routingKey, host, selector, port, tlsCredentials, useClientCert, verifyHostname, type } = options;
  const change = { routingKey, host, selector, port, tlsCredentials, useClientCert, verifyHostname, type };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
