/** Namespaces that are sites, and pairs of them with a link between. */
import { randomBytes } from 'node:crypto';
import { accessGrants, skupperResources, type AccessGrant, type SkupperResource } from '../../src/api/skupper/index.ts';
import { API_VERSION } from '../../src/api/skupper/names.ts';
import { ApiError } from '../../src/kube/errors.ts';
import type { Condition, KubeObject } from '../../src/kube/objects.ts';
import { resource, type Resource } from '../../src/kube/resource.ts';
import { eventually } from '../../test/harness/index.ts';
import { expect } from '../cluster/expectation.ts';
import { patience, secondsSince, type Ground } from '../cluster/load.ts';

const namespaces = resource<KubeObject>('v1', 'Namespace', 'namespaces', 'cluster');

const PREFIX = 'bench-';

export type Observed = KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } };

/** Two sites; the east has a link to the west. */
export interface Pair {
  readonly west: string;
  readonly east: string;
  /** From the request for the token until its Link was Ready. */
  readonly seconds: number;
}

/** A namespace of its own for each round, so that no round finds what an earlier one left. */
export async function openPlace({ client, cluster }: Ground, purpose: string): Promise<string> {
  const name = `${PREFIX}${purpose}-${randomBytes(3).toString('hex')}`;
  await client.create(namespaces, { metadata: { name } });
  // Pods are refused until the controller manager has made it.
  await eventually(`the namespace ${name} to be furnished`, () => cluster.api.find(`/api/v1/namespaces/${name}/serviceaccounts/default`));
  return name;
}

/** Returns when they are gone, with all that was in them. */
export async function closePlaces(ground: Ground, names: readonly string[]): Promise<void> {
  const { client, cluster } = ground;
  const begun = performance.now();
  await Promise.all(
    names.map((name) =>
      client.delete(namespaces, { name }).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }),
    ),
  );
  const isGone = async (name: string): Promise<boolean> => (await cluster.api.find(`/api/v1/namespaces/${name}`)) === undefined;
  for (const name of names) {
    await eventually(`the namespace ${name} to be gone`, () => isGone(name), { timeoutMs: patience(4_000), everyMs: 250 });
  }
  ground.log(`  ${names.join(', ')}: gone after ${secondsSince(begun).toFixed(1)} s`);
}

/** All that any round left. */
export async function closeAll(ground: Ground): Promise<void> {
  const found: string[] = [];
  for await (const { metadata } of ground.client.list(namespaces)) {
    if (metadata.name?.startsWith(PREFIX) === true) found.push(metadata.name);
  }
  await closePlaces(ground, found);
}

export async function create(
  { client }: Ground,
  namespace: string,
  kind: SkupperResource['kind'],
  name: string,
  spec: object,
): Promise<void> {
  await client.create(resourceOf(kind), { apiVersion: API_VERSION, kind, metadata: { namespace, name }, spec } as KubeObject);
}

/**
 * A moment at which so many of a namespace have a condition. Returns once the watch for it stands.
 * @param timeoutMs milliseconds, what so many objects by themselves take at most
 */
export function expectCondition(
  ground: Ground,
  namespace: string,
  kind: SkupperResource['kind'],
  count: number,
  { type = 'Ready', timeoutMs = patience(count) }: { readonly type?: string; readonly timeoutMs?: number } = {},
): ReturnType<typeof expect> {
  return expect(ground, resourceOf(kind), {
    namespace,
    what: `${kind}s that are ${type}`,
    count,
    isThere: (object) => holds(object, type),
    timeoutMs,
  });
}

export function holds({ status }: Observed, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
}

/** @returns seconds until it was Ready */
export async function openSite(ground: Ground, namespace: string, spec: object = {}): Promise<number> {
  await using ready = await expectCondition(ground, namespace, 'Site', 1);
  const start = performance.now();
  await create(ground, namespace, 'Site', namespace, spec);
  return ((await ready.reached) - start) / 1_000;
}

export async function openPair(ground: Ground, purpose: string): Promise<Pair> {
  const west = await openPlace(ground, `${purpose}-west`);
  const east = await openPlace(ground, `${purpose}-east`);
  await Promise.all([openSite(ground, west, { linkAccess: 'local' }), openSite(ground, east)]);
  const { url = '', code = '', ca = '' } = await grantOf(ground, west);
  await using linked = await expectCondition(ground, east, 'Link', 1);
  const start = performance.now();
  await create(ground, east, 'AccessToken', 'west', { url, code, ca });
  return { west, east, seconds: ((await linked.reached) - start) / 1_000 };
}

async function grantOf(ground: Ground, namespace: string): Promise<NonNullable<AccessGrant['status']>> {
  await using granted = await expectCondition(ground, namespace, 'AccessGrant', 1);
  await create(ground, namespace, 'AccessGrant', 'east', { redemptionsAllowed: 1, expirationWindow: '15m' });
  await granted.reached;
  const { status } = await ground.client.get(accessGrants, { namespace, name: 'east' });
  if (status === undefined) throw new TypeError('a grant that is Ready has a status');
  return status;
}

function resourceOf(kind: SkupperResource['kind']): Resource<Observed> {
  // All kinds have what is looked at here.
  return skupperResources[kind] as Resource<Observed>;
}
