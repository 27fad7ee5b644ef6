import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Structural } from '../../../../src/api/crd.ts';
import { customResourceDefinitions } from '../../../../src/api/listeners/crds.ts';
import type { Listener, ListenerClass } from '../../../../src/api/listeners/index.ts';
import { planService } from '../../../../src/exposure/listeners/service-plan.ts';

/** The defaults that the API server fills in, of one kind's `spec`. */
function defaultsOf(kind: string): Readonly<Record<string, unknown>> {
  const definition = customResourceDefinitions().find(({ spec }) => spec.names.kind === kind);
  const schema: Structural | undefined = definition?.spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'];
  const fields = Object.entries(schema?.properties ?? {}).filter(([, field]) => field.default !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, field.default]));
}

describe('a Service is planned alike whether the API server has filled in the defaults or not', () => {
  const listener: Listener = {
    metadata: { name: 'web', namespace: 'shop', uid: 'u' },
    spec: { className: 'c', ports: [{ name: 'http', port: 80 }] },
  };
  const filledListener = { ...listener, spec: { ...defaultsOf('Listener'), ...listener.spec } };

  for (const serviceType of ['ClusterIP', 'NodePort', 'LoadBalancer'] as const) {
    it(`for ${serviceType}`, () => {
      const bare: ListenerClass = { metadata: { name: 'c' }, spec: { serviceType } };
      const filled: ListenerClass = { metadata: { name: 'c' }, spec: { ...defaultsOf('ListenerClass'), serviceType } };
      assert.ok(Object.keys(filled.spec).length > Object.keys(bare.spec).length);
      assert.deepEqual(planService(filledListener, filled), planService(listener, bare));
    });
  }
});
