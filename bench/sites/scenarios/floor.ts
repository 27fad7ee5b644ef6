/** The cost of hundreds at once in the API server alone: the same objects and as many statuses, written by this program only. */
import { connectors, listeners } from '../../../src/api/skupper/index.ts';
import type { KubeObject, Service } from '../../../src/kube/objects.ts';
import { services, type Resource } from '../../../src/kube/resource.ts';
import { forEach, names, secondsSince } from '../../cluster/load.ts';
import type { Bench } from '../bench.ts';
import { closePlaces, openPlace } from '../places.ts';
import { withoutControllers } from '../processes.ts';
import { addAll } from './many.ts';

export async function measureFloor(bench: Bench): Promise<void> {
  await using _none = await withoutControllers(bench);
  const places: string[] = [];
  for (let round = 1; round <= bench.sizes.rounds; round++) {
    const place = await openPlace(bench, `floor-${round}`);
    places.push(place);
    await writeAll(bench, place, round);
  }
  await closePlaces(bench, places);
}

async function writeAll(bench: Bench, namespace: string, round: number): Promise<void> {
  const { client, sizes, record, log } = bench;
  const [size] = sizes.sizes;
  const start = performance.now();
  await addAll(bench, { west: namespace, east: namespace }, size);
  const applied = secondsSince(start);
  await forEach(names('key', 0, size), (name) => client.create(services, serviceOf(namespace, name)));
  const served = secondsSince(start);
  const all = [listeners, connectors].flatMap((of) => names('key', 0, size).map((name) => [of, name] as const));
  await forEach(all, ([of, name]) =>
    client.patch(of as Resource<KubeObject>, { namespace, name }, { status: STATUS }, { type: 'merge', subresource: 'status' }),
  );
  const configured = secondsSince(start);
  record('floor-applied', applied);
  record('floor-services', served);
  record('floor-configured', configured);
  const seconds = [applied, served, configured].map((each) => `${each.toFixed(2)} s`);
  log(
    `round ${round}: this program alone has applied them after ${seconds[0]}, created the Services after ${seconds[1]}, written statuses after ${seconds[2]}`,
  );
}

/** As the controller makes one. */
function serviceOf(namespace: string, name: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name, labels: { bench: name }, annotations: { bench: name } },
    spec: { selector: { app: 'nothing' }, ports: [{ name, port: 80, protocol: 'TCP', targetPort: 1024 }] },
  };
}

/** As large as a router's. */
const STATUS = {
  status: 'Ready',
  message: 'OK',
  conditions: ['Configured', 'Matched', 'Ready'].map((type) => ({
    type,
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    reason: 'OK',
    message: 'OK',
  })),
};
