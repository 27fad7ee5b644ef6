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
import { baseDirectory } from '../../platform/linux/layout.ts';
import { askRight } from '../../explain/gather/access-review.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';
import { messageOf } from '../../telemetry/log.ts';
import { printable } from '../../text/printable.ts';
import { isMachine, type MachinePlatform, type PlaceWords } from '../place.ts';
import { openCluster, platformFor } from '../resources.ts';
import { DEFAULT_GRANT_PORT } from '../../agent/settings.ts';

/** Number of open files below which a site cannot serve many clients. */
const FEW_FILES = 1_024;
/** A clock before this time is not set: no released certificate is older. */
const EARLIEST = Date.parse('2025-01-01T00:00:00Z');

export async function checkBeforeInstallation(words: PlaceWords): Promise<{ readonly title: string; readonly report: CheckReport }> {
  const { platform } = await platformFor(words);
  const steps = isMachine(platform) ? await machineSteps(platform) : await clusterSteps(words);
  const title = isMachine(platform) ? `This machine, platform ${platform}` : 'The cluster';
  return { title, report: reportOf([], steps, new Date()) };
}

async function machineSteps(platform: MachinePlatform): Promise<readonly Step[]> {
  const ports = [...Object.entries(DEFAULT_PORTS), ['grant', DEFAULT_GRANT_PORT] as const];
  return Promise.all([
    directoryStep(),
    clockStep(),
    filesStep(),
    ...ports.map(([what, port]) => portStep(what, port)),
    ...(platform === 'linux' ? [] : [engineStep(platform)]),
  ]);
}

/** The nearest existing directory must permit a new one. */
async function directoryStep(): Promise<Step> {
  const step = { id: 'pre.directory', object: 'directory' };
  const base = baseDirectory();
  for (let path = base; ; path = dirname(path)) {
    try {
      await access(path, constants.W_OK);
      return { ...step, state: 'pass', says: `${base} can be written` };
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (isMissing && path !== dirname(path)) continue;
      return { ...step, ...adviceOn('state-unavailable'), says: `${path} cannot be written: ${printable(messageOf(error))}` };
    }
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
    return { ...step, ...adviceOn(problemOf(error).code), state: 'warn', says: `not free, for ${what}: ${printable(messageOf(error))}` };
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

/** Rights of the user that installs the chart. */
const NEEDED = [
  { verb: 'create', group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' },
  { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  { verb: 'create', group: 'apps', resource: 'deployments' },
] as const;

async function clusterSteps(words: PlaceWords): Promise<readonly Step[]> {
  const { client, place } = await openCluster(words, PATIENCE);
  await using _client = client;
  const rights = NEEDED.map(async (right): Promise<Step> => {
    const step = { id: 'pre.rights', object: `${right.verb} ${right.resource}` };
    const answer = await askRight(client, { ...right, namespace: place.namespace });
    if ('unknown' in answer) return { ...step, state: 'unknown', says: answer.unknown };
    if (answer.value) return { ...step, state: 'pass', says: 'permitted' };
    return {
      ...step,
      state: 'fail',
      code: 'kube-api',
      says: `your user may not ${step.object}.${right.group}`,
      do: 'ask an administrator of the cluster',
    };
  });
  // The client is closed at the end of this function.
  return await Promise.all(rights);
}
