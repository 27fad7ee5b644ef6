/** Starts a bit of everything, ends it, and must then exit by itself. */
import { createClient } from '../../../src/kube/client/client.ts';
import { createEventRecorder } from '../../../src/kube/events/events.ts';
import { WorkQueue } from '../../../src/work/queue.ts';
import { fixedConfig } from '../../../src/kube/client/connection.ts';
import { resource } from '../../../src/kube/resource.ts';
import { startInformer } from '../../../src/kube/watch/informer.ts';
import { whileLeading } from '../../../src/kube/lease/lease.ts';
import { silentLog } from '../support/log-lines.ts';

const configMaps = resource('v1', 'ConfigMap', 'configmaps');
const stop = new AbortController();
const { signal } = stop;
const client = createClient({
  config: fixedConfig({ server: process.argv[2] ?? '' }),
  userAgent: 'test/1',
  fieldManager: 'tester',
  signal,
});
const informer = startInformer(client, configMaps, { signal });
informer.synced.catch(() => undefined);
const queue = new WorkQueue({
  name: 'test',
  log: silentLog,
  concurrency: 1,
  reconcile: () => Promise.reject(new Error('no')),
  backoff: { first: 60_000, max: 60_000 },
});
const recorder = createEventRecorder({ client, controller: 'earshot.test/exit', instance: 'test' });
const leading = Promise.withResolvers<void>();
const election = whileLeading({ client, namespace: 'default', name: 'lease', identity: 'a', signal }, async (lead) => {
  leading.resolve();
  await new Promise((resolve) => lead.addEventListener('abort', resolve, { once: true }));
});

await leading.promise;
await client.get(configMaps, { namespace: 'default', name: 'a' });
queue.add('a');
queue.addAfter('b', 3_600_000);
for (let i = 0; i < 2; i++) {
  const regarding = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'a' };
  recorder.record({ regarding, type: 'Normal', reason: 'Tested', action: 'Test', note: 'twice' });
}

await recorder[Symbol.asyncDispose]();
await queue[Symbol.asyncDispose]();
stop.abort(new Error('the end'));
await election;
console.log('everything has ended');
