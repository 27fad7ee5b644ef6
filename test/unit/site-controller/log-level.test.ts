import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followLogLevel } from '../../../src/site-controller/log-level.ts';
import type { Change, KubeClient, StartInformer } from '../../../src/kube/contract.ts';
import type { ConfigMap } from '../../../src/kube/objects.ts';
import { createLogger } from '../../../src/telemetry/log.ts';

test('the log follows ConfigMap skupper-log-config while it is there', () => {
  const log = createLogger({ level: 'error', component: 'test' });
  let asked: unknown;
  let tell: (change: Change<ConfigMap>) => void = () => assert.fail();
  const start = (_client: unknown, _of: unknown, { signal: _signal, ...options }: { readonly signal: AbortSignal }) => {
    asked = options;
    return { onChange: (handler: typeof tell) => void (tell = handler) };
  };
  // The rest of a cache is not asked.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const parts = { start: start as unknown as StartInformer, client: {} as KubeClient };
  followLogLevel({ ...parts, namespace: 'mine', log, signal: new AbortController().signal });
  assert.deepEqual(asked, { namespace: 'mine', fieldSelector: 'metadata.name=skupper-log-config' });
  const levelAfter = (type: Change<ConfigMap>['type'], level?: string): string => {
    const data = level === undefined ? {} : { CONTROLLER_LOG_LEVEL: level };
    tell({ type, object: { metadata: { name: 'skupper-log-config' }, data } });
    return log.level;
  };
  // No level below `error` is asked for first: what is logged of a change would be on the test's own output.
  assert.equal(levelAfter('added'), 'error');
  assert.equal(levelAfter('modified', ' WARN\n'), 'warn');
  assert.equal(levelAfter('modified', 'error'), 'error');
  assert.equal(levelAfter('modified', 'silent'), 'error');
  assert.equal(levelAfter('modified', 'warn'), 'warn');
  assert.equal(levelAfter('deleted', 'warn'), 'error');
});
