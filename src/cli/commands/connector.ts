import { Argument, Option, type Command } from 'commander';
import type { SpecChange } from '../actions/resource-actions.ts';
import type { Resources, PlatformConventions } from '../../platform/resources.ts';
import { servicePort } from './options.ts';
import { CliError } from '../errors.ts';
import { createVerb, deleteVerb, generateVerb, resourceCommands, statusVerb, updateVerb } from './resource-commands.ts';
import type { Terminal } from '../output/terminal.ts';

/** `earshot connector`. */
export function addConnector(program: Command, terminal: Terminal): void {
  resourceCommands(program, terminal, 'Connector', 'manage connectors: servers at this site that listeners lead to', [
    createVerb({
      description: 'create a connector',
      examples: [
        'earshot connector create backend 8080 --host 127.0.0.1',
        'earshot --platform kubernetes connector create backend 8080 --workload deployment/backend',
        'earshot connector create database 5432 --routing-key db --host db.internal --tls-credentials db-ca',
      ],
      arguments: nameAndPort,
      options: [...options, ...podOptions],
      resolve: selectPods,
      spec: newSpec,
      assumed: assumedServer,
      wait: 'configured',
    }),
    updateVerb({
      description: 'change a connector while it runs; an empty text removes an option',
      examples: ['earshot connector update backend --host 192.0.2.7 --port 8081'],
      arguments: [nameOnly],
      options: [...options, ...podOptions, new Option('--port <port>', PORT).argParser(servicePort)],
      resolve: selectPods,
      spec: instead,
      wait: 'configured',
    }),
    deleteVerb({
      description: 'delete a connector; open connections continue until they end',
      examples: ['earshot connector delete backend'],
    }),
    statusVerb('show all connectors, or one', ['earshot connector status', 'earshot connector status backend -o json']),
    generateVerb({
      description: 'print a connector and create nothing',
      examples: [
        'earshot connector generate backend 8080 --host 127.0.0.1 > backend.yaml',
        'earshot connector generate backend 8080 --selector app=backend | kubectl apply -f -',
      ],
      arguments: nameAndPort,
      options: [...options, ...podOptions],
      resolve: selectPods,
      spec: newSpec,
    }),
  ]);
}

const nameOnly = new Argument('<name>', 'name of the connector');
const PORT = 'port of the server';
const nameAndPort = [nameOnly, new Argument('<port>', PORT).argParser(servicePort)];

const options = [
  new Option('-r, --routing-key <key>', 'key by which listeners are found (default at creation: the name)'),
  new Option('--host <host>', 'name or address of the server (default at creation: localhost; in a cluster, pods by label)'),
  new Option('--tls-credentials <name>', 'TLS bundle below input/certs that verifies the server; in a cluster a Secret'),
  new Option('--use-client-cert', 'present the certificate of that bundle to the server'),
  new Option('--no-use-client-cert', 'do not present it'),
  new Option('--verify-hostname', "require that the server's certificate names the host (default on a machine, not in a cluster)"),
  new Option('--no-verify-hostname', 'accept a certificate without the host'),
  new Option('--type <type>', 'protocol of the connections').choices(['tcp']),
];

const podOptions = [
  new Option('--selector <labels>', 'in a cluster: labels of the pods that are the servers (default at creation: app=NAME)'),
  new Option('--workload <workload>', 'in a cluster: workload whose pods are the servers, such as deployment/backend'),
  new Option('--include-not-ready', 'in a cluster: include pods that are not ready'),
  new Option('--no-include-not-ready', 'include only pods that are ready'),
];

/**
 * Converts pod options to a selector. Only clusters have pods. A resource that is only printed may be for a cluster, so the
 * platform is checked then only if a workload is named.
 */
async function selectPods(
  command: Command,
  { workload, includeNotReady, ...fields }: SpecChange,
  open: () => Promise<Resources>,
): Promise<SpecChange> {
  const given = includeNotReady === undefined ? fields : { ...fields, includeNotReadyPods: includeNotReady };
  const isPrinted = command.name() === 'generate';
  if (workload === undefined && (isPrinted || fields['selector'] === undefined)) return given;
  const resources = await open();
  if (!resources.conventions.platform.capabilities.has('pods')) {
    const how = isPrinted
      ? 'Give their labels with --selector, or name the cluster with --platform kubernetes'
      : 'Give the server with --host';
    throw new CliError('usage', `Pods cannot be selected: they exist only in a cluster. ${how}.`);
  }
  return workload === undefined ? given : { ...given, selector: await resources.selectorOf(String(workload)) };
}

/** Spec of a new connector. Its server is given by host or by pod selector; the default depends on the platform. */
function newSpec({ port, host, selector: pods, ...rest }: SpecChange, name: string, conventions: PlatformConventions): SpecChange {
  const server = host === undefined && pods === undefined ? conventions.server(name) : { host, selector: pods };
  return { routingKey: name, port, ...server, ...rest };
}

function assumedServer({ host, selector: pods }: SpecChange, name: string, conventions: PlatformConventions): string | undefined {
  if (host !== undefined || pods !== undefined) return undefined;
  const { host: server, selector: labels }: SpecChange = conventions.server(name);
  if (server !== undefined) return `Its server is the host ${JSON.stringify(server)}. Choose another host with --host.`;
  return labels === undefined
    ? undefined
    : `Its servers are the pods with ${JSON.stringify(labels)}. Choose other servers with --selector, --workload or --host.`;
}

/** Host and selector replace each other. */
function instead({ host, selector: pods, ...rest }: SpecChange): SpecChange {
  if (host === undefined && pods === undefined) return rest;
  return { ...rest, host: host ?? '', selector: pods ?? '' };
}
