import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { DRIVER_NAME } from '../../api/listeners/names.ts';
import type { Selection } from '../../kube/contract.ts';
import type { Logger } from '../../telemetry/log.ts';
import { CsiError } from './errors.ts';
import { findVolumes } from './found-volumes.ts';
import { IdentityDefinition, NodeDefinition } from './generated/csi.ts';
import { RegistrationDefinition } from './generated/registration.ts';
import { createIdentityService } from './identity-service.ts';
import { MountRequests, type MountRequestsOptions } from './mount-requests.ts';
import { createNodeService } from './node-service.ts';
import { PodRecords } from './pod-records.ts';
import { PublishedVolumes, type VolumeReport } from './published-volumes.ts';
import { createRegistrationService } from './registration-service.ts';
import { serveOnSocket, type SocketServer } from './socket-server.ts';
import { StandingRequests } from './standing-requests.ts';
import type { Volume } from './volume-entry.ts';
import { VERSION } from '../../version.ts';
import { aborted, pause } from '../../work/pause.ts';

export interface CsiNodeOptions extends MountRequestsOptions {
  /** The kubelet's --root-dir, mounted into the container at the same path. */
  readonly kubeletDir: string;
  readonly log: Logger;
  /** Called with the reason why the driver cannot serve pods once its sockets are open, and with undefined once it can. */
  readonly onReadiness?: (problem: string | undefined) => void;
  /** Called once, with a function that lists the volumes. */
  readonly onVolumes?: (list: () => readonly VolumeReport[]) => void;
  /** See NodeServiceOptions. */
  readonly waitMilliseconds?: number;
  /** Interval between checks of the sockets in milliseconds. */
  readonly watchMilliseconds?: number;
}

const WATCH_MILLISECONDS = 30_000;

/** Selection of the PodListeners that the node driver watches. */
export function podListenersOnNode(nodeName: string): Selection {
  return { fieldSelector: `spec.nodeName=${nodeName}` };
}

/**
 * Serves the Node service and registers it with the kubelet until the signal is aborted. Rejects if the kubelet refused the
 * driver or a socket was removed. The process should then end and be restarted.
 */
export async function runCsiNode(options: CsiNodeOptions, signal: AbortSignal): Promise<void> {
  const { log, onReadiness = () => undefined } = options;
  const kubeletDir = resolve(options.kubeletDir);
  const endpoint = `${kubeletDir}/plugins/${DRIVER_NAME}/csi.sock`;
  const registry = `${kubeletDir}/plugins_registry/${DRIVER_NAME}-reg.sock`;
  let isRegistered = false;
  const failed = new AbortController();
  const fail = (error: unknown): void => failed.abort(error);
  const ended = AbortSignal.any([signal, failed.signal]);
  await mkdir(dirname(endpoint), { recursive: true });
  const { podListeners } = options;
  const published = new PublishedVolumes({ podListeners, log, signal: ended });
  options.onVolumes?.(() => published.reports());
  const requests = new MountRequests(options);
  const records = await PodRecords.open(join(dirname(endpoint), 'pods'));
  const standing = new StandingRequests({ requests, podListeners, records, log, signal: ended });
  await takeUp(await findVolumes(kubeletDir), { published, standing, records });

  await using driver = await serveOnSocket({
    socket: endpoint,
    log,
    services(server) {
      server.add(IdentityDefinition, createIdentityService({ version: VERSION, isReady: () => options.podListeners.isSynced }));
      server.add(NodeDefinition, createNodeService({ ...options, kubeletDir, requests, standing, published, signal: ended }));
    },
  });
  await using registration = await serveOnSocket({
    socket: registry,
    log,
    services(server) {
      const onRegistered = (): void => {
        isRegistered = true;
        log.info({ endpoint }, 'the kubelet registered the driver');
        onReadiness(undefined);
      };
      server.add(RegistrationDefinition, createRegistrationService({ endpoint, onRegistered, onRefused: fail }));
    },
  });
  log.info({ endpoint, registry, nodeName: options.nodeName }, 'serving');
  if (!isRegistered) onReadiness(`the kubelet has not registered the driver (socket ${registry}): is --kubelet-dir its --root-dir?`);
  // Rejects only when the process ends, which logs the reason.
  options.podListeners.synced.then(
    () => published.refreshAll(),
    () => undefined,
  );
  watchSockets([driver, registration], options.watchMilliseconds ?? WATCH_MILLISECONDS, ended).catch(fail);

  await aborted(ended);
  await published.idle();
  if (failed.signal.aborted) throw failed.signal.reason;
}

/** Adopts the volumes of pods from an earlier process. */
async function takeUp(
  found: readonly Volume[],
  {
    published,
    standing,
    records,
  }: { readonly published: PublishedVolumes; readonly standing: StandingRequests; readonly records: PodRecords },
): Promise<void> {
  const known = found.map((volume): Volume => {
    const pod = records.get(volume.target.podUid);
    return pod === undefined ? volume : { ...volume, pod };
  });
  published.follow(known);
  // Added without the recorded pod, because the record may be wrong.
  for (const volume of found) standing.add(volume);
  const uids = new Set(known.map(({ target }) => target.podUid));
  for (const uid of records.uids()) if (!uids.has(uid)) await records.remove(uid);
}

/**
 * Fails if a socket is missing, for example after a cleanup of the kubelet's folder: the driver would be unreachable but look
 * healthy.
 */
async function watchSockets(servers: readonly SocketServer[], milliseconds: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(milliseconds, signal).catch(() => undefined);
    for (const server of signal.aborted ? [] : servers) {
      if (!(await server.isReachable())) throw new CsiError('csi-socket', `The socket ${server.socket} was removed or replaced.`);
    }
  }
}
