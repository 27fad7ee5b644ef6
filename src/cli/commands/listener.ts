import { Option, type Command } from 'commander';
import { addWaiting, outputOption, servicePort } from './options.ts';
import type { WaitOptions } from '../actions/waiting.ts';
import type { OutputFormat } from '../output/output.ts';
import type { SpecChange } from '../actions/resource-actions.ts';
import { addDelete, addStatus, subcommand, targetOf, type ResourceCommand } from './resource-command.ts';
import type { Terminal } from '../output/terminal.ts';

interface ListenerOptions {
  readonly routingKey?: string;
  readonly host?: string;
  readonly port?: number;
  readonly tlsCredentials?: string;
  readonly observer?: string;
  readonly type?: string;
}

/** `earshot listener`. */
export function addListener(program: Command, terminal: Terminal): void {
  const group = program.command('listener').description('what clients at this site connect to');
  const of: ResourceCommand<'Listener'> = { group, kind: 'Listener', terminal };

  const create = subcommand(
    of,
    'create',
    'make a listener',
    'earshot listener create backend 8080 --host 127.0.0.1',
    'earshot listener create database 5432 --routing-key db --host 127.0.0.1 --wait ready',
  );
  addWaiting(addOptions(withArguments(create), `; at first ${ALL}, all of its IPv4 addresses`), 'configured').action(
    async (name: string, port: number, options: ListenerOptions & WaitOptions, command: Command) => {
      const { createResource } = await import('../actions/resource-actions.ts');
      await createResource(await targetOf(of, command), name, newSpec(name, port, ALL, options), 'configured', options);
    },
  );

  const update = subcommand(
    of,
    'update',
    'change a listener while it runs; an empty text takes an option back',
    'earshot listener update backend --routing-key backend-v2',
    'earshot listener update backend --tls-credentials ""',
  ).argument('<name>', 'name of the listener');
  addWaiting(
    addOptions(update).addOption(new Option('--port <port>', 'port that clients connect to').argParser(servicePort)),
    'configured',
  ).action(async (name: string, options: ListenerOptions & WaitOptions, command: Command) => {
    const { updateResource } = await import('../actions/resource-actions.ts');
    await updateResource(await targetOf(of, command), name, changeOf(options), 'configured', options);
  });

  addDelete(of, 'remove a listener; open connections may end in their own time', 'earshot listener delete backend');
  addStatus(of, 'show all listeners, or one', 'earshot listener status', 'earshot listener status backend -o json');

  const generate = subcommand(
    of,
    'generate',
    'print a listener, and make nothing',
    'earshot listener generate backend 8080 > backend.yaml',
  );
  // It may be for a cluster, where the host is the name of a Service.
  addOptions(withArguments(generate), '; at first the name')
    .addOption(outputOption('format').default('yaml'))
    .action(async (name: string, port: number, options: ListenerOptions & { readonly output: OutputFormat }) => {
      const { generateResource } = await import('../actions/resource-actions.ts');
      generateResource(terminal, 'Listener', name, newSpec(name, port, name, options), options.output);
    });
}

function withArguments(command: Command): Command {
  return command.argument('<name>', 'name of the listener').argument('<port>', 'port that clients connect to', servicePort);
}

/** As Skupper has it without a cluster, where a listener's name is hardly ever the name of an address. */
const ALL = '0.0.0.0';

function addOptions(command: Command, initialHost = ''): Command {
  return command
    .option('--routing-key <key>', 'key by which connectors are found; at first the name')
    .option('--host <host>', `name or address of this machine to listen on${initialHost}`)
    .option('--tls-credentials <name>', 'TLS bundle below input/certs that clients are shown')
    .addOption(new Option('--observer <protocol>', 'protocol to take metrics of').choices(['auto', 'none', 'http1', 'http2']))
    .addOption(new Option('--type <type>', 'what is carried').choices(['tcp']));
}

function newSpec(name: string, port: number, host: string, options: ListenerOptions): SpecChange {
  return { routingKey: name, host, port, ...changeOf(options) };
}

function changeOf({ routingKey, host, port, tlsCredentials, observer, type }: ListenerOptions): SpecChange {
  const change = { routingKey, host, port, tlsCredentials, observer, type };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
