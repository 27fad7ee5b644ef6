import { Argument, Option, type Command } from 'commander';
import type { SpecChange } from '../actions/resource-actions.ts';
import type { PlatformConventions } from '../../platform/resources.ts';
import { servicePort } from './options.ts';
import { createVerb, deleteVerb, generateVerb, resourceCommands, statusVerb, updateVerb } from './resource-commands.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot listener`. */
export function addListener(program: Command, terminal: Terminal): void {
  resourceCommands(program, terminal, 'Listener', 'manage listeners: addresses that clients at this site connect to', [
    createVerb({
      description: 'create a listener',
      examples: [
        'earshot listener create backend 8080 --host 127.0.0.1',
        'earshot listener create database 5432 --routing-key db --host 127.0.0.1 --wait ready',
      ],
      arguments: nameAndPort,
      options: options(INITIAL_HOST),
      spec: newSpec,
      assumed: assumedHost,
      wait: 'configured',
    }),
    updateVerb({
      description: 'change a listener while it runs; an empty text removes an option',
      examples: ['earshot listener update backend --routing-key backend-v2', 'earshot listener update backend --tls-credentials ""'],
      arguments: [nameOnly],
      options: [...options(), new Option('--port <port>', PORT).argParser(servicePort)],
      wait: 'configured',
    }),
    deleteVerb({
      description: 'delete a listener; open connections continue until they end',
      examples: ['earshot listener delete backend'],
    }),
    statusVerb('show all listeners, or one', ['earshot listener status', 'earshot listener status backend -o json']),
    generateVerb({
      description: 'print a listener and create nothing',
      examples: ['earshot listener generate backend 8080 > backend.yaml'],
      arguments: nameAndPort,
      options: options(INITIAL_HOST),
      spec: newSpec,
    }),
  ]);
}

const nameOnly = new Argument('<name>', 'name of the listener');
const INITIAL_HOST = ' (default: 0.0.0.0, which is all IPv4 addresses; in a cluster the name)';
const PORT = 'port that clients connect to';
const nameAndPort = [nameOnly, new Argument('<port>', PORT).argParser(servicePort)];

function newSpec(fields: SpecChange, name: string, conventions: PlatformConventions): SpecChange {
  return { routingKey: name, host: conventions.listenerHost(name), ...fields };
}

/** Note about the default host: users may not expect a port that is open to other machines. */
function assumedHost({ host }: SpecChange, name: string, conventions: PlatformConventions): string | undefined {
  if (host !== undefined || conventions.listenerHost(name) !== '0.0.0.0') return undefined;
  return 'It accepts clients at 0.0.0.0, which is all IPv4 addresses of this machine. To accept only clients of this machine, use --host 127.0.0.1.';
}

function options(initialHost = ''): readonly Option[] {
  return [
    new Option('-r, --routing-key <key>', 'key by which connectors are found (default at creation: the name)'),
    new Option('--host <host>', `name or address of this machine to listen on; in a cluster the name of its Service${initialHost}`),
    new Option(
      '--tls-credentials <name>',
      'TLS bundle below input/certs for clients; with a ca.crt, clients must present a certificate too; in a cluster a Secret',
    ),
    new Option('--observer <protocol>', 'protocol to measure').choices(['auto', 'none', 'http1', 'http2']),
    new Option('--type <type>', 'protocol of the connections').choices(['tcp']),
  ];
}
