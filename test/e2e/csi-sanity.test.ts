/** The conformance suite of the CSI project, whole, against the real services, the real API server and the real controller. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { listenerClasses, listeners, podListeners } from '../../src/api/listeners/index.ts';
import { podListenersOnNode, runCsiNode } from '../../src/exposure/csi/run-node.ts';
import { serveCsiController } from '../../src/exposure/csi/serve-controller.ts';
import type { SocketServer } from '../../src/exposure/csi/socket-server.ts';
import { createClient } from '../../src/kube/client/client.ts';
import { loadConfig } from '../../src/kube/client/config.ts';
import type { KubeClient } from '../../src/kube/contract.ts';
import { startInformer } from '../../src/kube/watch/informer.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { connectCluster } from '../harness/index.ts';
import { run } from '../harness/command.ts';
import { toolFolder } from '../harness/tools.ts';
import { startOrchestrator } from './support/csi-orchestrator.ts';
import { openNamespace, type Namespace } from './support/namespace.ts';

const NODE = 'csi-sanity';

const attach = 'nothing is attached to a node';
const size = 'an address has no size, and there is no pool of them to run out of';
const snapshot = 'the files say what is true now; an old state of them is of no use';
const modify = 'which Listener a volume is for is settled when it is made';
const stage = 'the files are of one pod; nothing is shared by the pods of a node';
const health = "some files that are repaired at every change; a Listener's conditions report its health";

/** Why a test of the suite says nothing about a listener volume. Every test that is skipped must be one of these. */
const notApplicable: Readonly<Record<string, string>> = {
  'ListVolumes not supported': 'the volumes are the PersistentVolumes, so the API server lists them',
  'GetCapacity not supported': size,
  'ControllerExpandVolume not supported': size,
  'NodeExpandVolume not supported': size,
  'ControllerPublishVolume not supported': attach,
  'ControllerUnpublishVolume not supported': attach,
  'Controller Publish, UnpublishVolume not supported': attach,
  'CreateSnapshot not supported': snapshot,
  'DeleteSnapshot not supported': snapshot,
  'ListSnapshots not supported': snapshot,
  'GetSnapshot not supported': snapshot,
  'Snapshot not supported': snapshot,
  'GroupControllerService not supported': snapshot,
  'Volume Cloning not supported': 'a second volume has an address of its own',
  'Modify volume not supported': modify,
  'Modify Volume not supported': modify,
  'ControllerModifyVolume not supported': modify,
  'NodeStageVolume not supported': stage,
  'NodeUnstageVolume not supported': stage,
  'NodeGetVolume not supported': 'some hundred bytes on the disk of the node need no statistics',
  'ControllerListVolumeHealth not supported': health,
  'ControllerGetVolumeHealth not supported': health,
  'NodeGetVolumeHealth not supported': health,
  'NodeGetStorageHealth not supported': health,
  'Service does not have single node multi writer capability': 'pods only read, so any number of them may',
};

interface SpecReport {
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly State: string;
  readonly Failure?: { readonly Message: string };
}

describe('csi-sanity', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  const folder = mkdtempSync(join(tmpdir(), 'sanity-'));
  const kubeletDir = join(folder, 'k');
  const end = new AbortController();
  let client: KubeClient;
  let namespace: Namespace;
  let controller: SocketServer;
  let orchestrator: AsyncDisposable;
  let driver: Promise<void>;

  before(async () => {
    namespace = await openNamespace(cluster, 'csi-sanity');
    // ClusterIP: its addresses need no Node object, so this node may exist for the suite only.
    const className = await namespace.class('internal', { serviceType: 'ClusterIP' });
    client = createClient({
      config: await loadConfig({ kubeconfig: cluster.kubeconfig }),
      userAgent: 'earshot-csi-sanity',
      fieldManager: 'earshot',
      signal: end.signal,
    });
    const { signal } = end;
    const log = createLogger({ level: 'error', component: 'csi-sanity' });
    const classes = startInformer(client, listenerClasses, { signal });
    const known = startInformer(client, listeners, { signal });
    await Promise.all([classes.synced, known.synced]);
    controller = await serveCsiController({ socket: join(folder, 'controller.sock'), client, classes, listeners: known, log });
    for (const name of ['pods', 'plugins_registry']) mkdirSync(join(kubeletDir, name), { recursive: true });
    const serving = Promise.withResolvers<void>();
    const cache = startInformer(client, podListeners, { ...podListenersOnNode(NODE), signal });
    driver = runCsiNode({ nodeName: NODE, kubeletDir, client, podListeners: cache, log, onReadiness: () => serving.resolve() }, signal);
    await Promise.race([serving.promise, driver]);
    orchestrator = await startOrchestrator({
      namespace,
      className,
      nodeName: NODE,
      kubeletDir,
      controller: controller.socket,
      node: join(kubeletDir, 'plugins/listeners.stackable.tech/csi.sock'),
      socket: join(folder, 'csi.sock'),
    });
  });
  after(async () => {
    await orchestrator?.[Symbol.asyncDispose]();
    await controller?.[Symbol.asyncDispose]();
    end.abort();
    await driver;
    await client?.[Symbol.asyncDispose]();
    await namespace?.[Symbol.asyncDispose]();
    await cluster.api.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('passes whole; what it skips does not apply', async (test) => {
    const program = join(await toolFolder('csi-sanity'), 'csi-sanity');
    const report = join(folder, 'report.json');
    const args = [
      `-csi.endpoint=unix://${join(folder, 'csi.sock')}`,
      `-csi.mountdir=${join(folder, 'target')}`,
      `-csi.stagingdir=${join(folder, 'staging')}`,
      `-ginkgo.json-report=${report}`,
      '-ginkgo.no-color',
    ];
    const ran = await run(program, args, { timeoutMs: 420_000 }).then(
      () => undefined,
      (error: unknown) => error,
    );
    // ginkgo's report (github.com/onsi/ginkgo/v2/types, Report).
    const suites = JSON.parse(readFileSync(report, 'utf8')) as readonly { readonly SpecReports: readonly SpecReport[] }[];
    const specs = suites.flatMap(({ SpecReports }) => SpecReports).filter(({ LeafNodeType }) => LeafNodeType === 'It');
    const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }: SpecReport): string =>
      [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');
    const failed = specs.filter(({ State }) => !['passed', 'skipped', 'pending'].includes(State));
    assert.deepEqual(
      failed.map((spec) => `${nameOf(spec)}: ${spec.Failure?.Message}`),
      [],
    );
    assert.equal(ran, undefined);

    const skipped = specs.filter(({ State }) => State === 'skipped');
    const unexplained = skipped.filter(({ Failure }) => !Object.hasOwn(notApplicable, (Failure?.Message ?? '').trim()));
    assert.deepEqual(
      unexplained.map((spec) => `${nameOf(spec)}: ${spec.Failure?.Message}`),
      [],
    );
    const unused = Object.keys(notApplicable).filter((reason) => !skipped.some(({ Failure }) => Failure?.Message.trim() === reason));
    assert.deepEqual(unused, []);
    const passed = specs.filter(({ State }) => State === 'passed');
    assert.ok(passed.length >= 25, `${passed.length} passed`);
    for (const spec of skipped) test.diagnostic(`does not apply: ${nameOf(spec)} (${notApplicable[(spec.Failure?.Message ?? '').trim()]})`);
    test.diagnostic(`${passed.length} passed, ${skipped.length} do not apply`);
  });

  it('leaves nothing in the folders of the pods', () => {
    const pods = join(kubeletDir, 'pods');
    const left = readdirSync(pods).flatMap((uid) => readdirSync(join(pods, uid, 'volumes/kubernetes.io~csi')));
    assert.deepEqual(left, []);
  });
});
