/** The chart, and Helm to try it with. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { run } from './command.ts';
import { toolFolder, toolPath } from './tools.ts';

export const CHART = path.resolve(import.meta.dirname, '../../deploy/chart');

let folder: Promise<string> | undefined;

/** Whether Helm is built; it is neither downloaded nor built for this answer. */
export async function isHelmBuilt(): Promise<boolean> {
  return existsSync(await toolPath('helm'));
}

export async function helm(args: readonly string[], values?: object): Promise<string> {
  folder ??= toolFolder('helm');
  const program = `${await folder}/helm`;
  // It ends before collecting garbage pays.
  const env = { GOGC: 'off' };
  return values === undefined
    ? run(program, args, { env })
    : run(program, [...args, '--values', '-'], { env, input: JSON.stringify(values) });
}

/** As an administrator of the listener-operator has them. */
export function listenerOperatorValues(): object {
  return parse(readFileSync(path.join(import.meta.dirname, 'listener-operator-values.yaml'), 'utf8')) as object;
}

/** Every option in use. */
export const everything = {
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
  dashboard: { enabled: true },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  imagePullSecrets: [{ name: 'registry' }],
  image: { repository: 'registry.example.com/earshot', digest: `sha256:${'0'.repeat(64)}` },
  manageCrds: false,
  rbac: { everyoneReadsClasses: true, controllerPolicies: 'Warn' },
  controller: {
    replicas: 1,
    podAnnotations: { a: 'b' },
    podLabels: { c: 'd' },
    tolerations: [{ operator: 'Exists' }],
    nodeSelector: { e: 'f' },
    extraArgs: ['--concurrency=4'],
  },
  provisioner: { sidecar: true },
  node: { maxUnavailable: 3, mountPropagation: 'None', podAnnotations: { a: 'b' } },
  connection: {
    enabled: true,
    replicas: 1,
    requireExplicitControl: true,
    routerImage: 'registry.example.com/routers:1',
    enabledAccessTypes: 'local,nodeport',
    defaultAccessType: 'nodeport',
    clusterHost: 'nodes.example.com',
    grants: { baseUrl: 'https://grants.example.com:443' },
    disableSecurityContext: true,
    priorityClassName: 'mine',
    podAnnotations: { a: 'b' },
    podLabels: { c: 'd' },
    extraArgs: ['--concurrency=4'],
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
  },
};
