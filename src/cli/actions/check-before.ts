/** `earshot check --pre`: whether a site can be installed on this machine, or in this cluster. */
import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { DEFAULT_PORTS } from '../../api/skupper/names.ts';
import { adviceOn } from '../../explain/connection/object-problem.ts';
import { reportOf, type CheckReport } from '../../explain/report.ts';
import type { Step } from '../../explain/step.ts';
import { problemOf } from '../../errors/problem.ts';
import { layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { directoryResources } from '../../platform/linux/resources.ts';
import { nameOf } from '../../site/resources.ts';
import { checkNewCluster } from '../../explain/gather/check-new-cluster.ts';
import { portOwner } from '../../router/local/port-owner.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';
import { messageOf } from '../../telemetry/log.ts';
import { printable } from '../../text/printable.ts';
import { isMachine, machineNamespace, type MachinePlatform, type PlaceWords } from '../place.ts';
import { openCluster, platformFor } from '../resources.ts';
import { DEFAULT_GRANT_PORT } from '../../agent/settings.ts';

/** Number of open files below which a site cannot serve many clients. */
const FEW_FILES = 1_024;
/** A clock before this time is not set: no released certificate is older. */
const EARLIEST = Date.parse('2025-01-01T00:00:00Z');

export async function checkBeforeInstallation(words: PlaceWords): Promise<{ readonly title: string; readonly report: CheckReport }> {
  const { platform } = await platformFor(words);
  const namespace = machineNamespace(words, process.env);
  const steps = isMachine(platform) ? await machineSteps(platform, namespace) : await clusterSteps(words);
  const title = isMachine(platform) ? `This machine, platform ${platform}, namespace ${namespace}` : 'The cluster';
  return { title, report: reportOf([], steps, new Date()) };
}

async function machineSteps(platform: MachinePlatform, namespace: string): Promise<readonly Step[]> {
  const ports = [...Object.entries(DEFAULT_PORTS), ['grant', DEFAULT_GRANT_PORT] as const];
  return Promise.all([
    directoryStep(layoutOf(namespace)),
    siteStep(layoutOf(namespace)),
    clockStep(),
    filesStep(),
    ...ports.map(([what, port]) => portStep(what, port)),
    ...(platform === 'linux' ? [] : [engineStep(platform)]),
  ]);
}

/** The nearest existing directory must permit a new one. */
async function directoryStep({ root }: NamespaceLayout): Promise<Step> {
  const step = { id: 'pre.directory', object: 'directory' };
  for (let path = root; ; path = dirname(path)) {
    try {
      await access(path, constants.W_OK);
      return { ...step, state: 'pass', says: `${root} can be written` };
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (isMissing && path !== dirname(path)) continue;
      return { ...step, ...adviceOn('state-unavailable'), says: `${path} cannot be written: ${printable(messageOf(error))}` };
    }
  }
}

/** A second site needs a namespace of its own. */
async function siteStep(layout: NamespaceLayout): Promise<Step> {
  const step = { id: 'pre.namespace', object: `namespace/${layout.namespace}` };
  try {
    const [site] = await directoryResources(layout).list('Site');
    if (site === undefined) return { ...step, state: 'pass', says: 'has no Site yet' };
    return { ...step, state: 'warn', says: `has the Site ${nameOf(site)} already`, do: 'select another namespace with -n NAME' };
  } catch (error) {
    return { ...step, state: 'unknown', says: `cannot be read: ${printable(messageOf(error))}` };
  }
}

function clockStep(): Step {
  const step = { id: 'pre.clock', object: 'clock' };
  const now = new Date();
  if (now.getTime() >= EARLIEST) return { ...step, state: 'pass', says: now.toISOString() };
  return { ...step, ...adviceOn('clock-wrong'), says: `the clock is at ${now.toISOString()}` };
}

function filesStep(): Step {
  const step = { id: 'pre.files', object: 'open files' };
  const limit = openFilesLimit();
  if (limit === undefined) return { ...step, state: 'unknown', says: 'the limit of open files cannot be read' };
  if (limit >= FEW_FILES) return { ...step, state: 'pass', says: `${limit} permitted` };
  return { ...step, ...adviceOn('busy'), state: 'warn', says: `only ${limit} open files are permitted` };
}

/** Ports at which a site with link access listens. Another choice is possible, so a taken one is a warning. */
async function portStep(what: string, port: number): Promise<Step> {
  const step = { id: 'pre.port', object: `port ${port}` };
  const server = createServer();
  try {
    server.listen(port);
    await once(server, 'listening');
    return { ...step, state: 'pass', says: `free, for ${what}` };
  } catch (error) {
    const { code } = problemOf(error);
    const why = code === 'port-in-use' ? `in use by ${portOwner(port) ?? 'another process'}` : printable(messageOf(error));
    return { ...step, ...adviceOn(code), state: 'warn', says: `not free, for ${what}: ${why}` };
  } finally {
    server.close();
  }
}

async function engineStep(platform: 'podman' | 'docker'): Promise<Step> {
  const step = { id: 'pre.engine', object: platform };
  try {
    const { stdout } = await promisify(execFile)(platform, ['version', '--format', '{{.Client.Version}}'], { timeout: PATIENCE });
    return { ...step, state: 'pass', says: `version ${printable(stdout.trim(), 80)}` };
  } catch (error) {
    return { ...step, ...adviceOn('cannot-start'), says: `${platform} does not answer: ${printable(messageOf(error), 300)}` };
  }
}

/** Timeout in milliseconds of each question. */
const PATIENCE = 2_000;

async function clusterSteps(words: PlaceWords): Promise<readonly Step[]> {
  const { client, place } = await openCluster(words, PATIENCE);
  await using _client = client;
  // The client is closed at the end of this function.
  return await checkNewCluster({ client, namespace: place.namespace });
}
