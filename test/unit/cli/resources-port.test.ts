import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SkupperResource } from '../../../src/api/skupper/index.ts';
import { validateResource } from '../../../src/api/skupper/validate.ts';
import { createResource, deleteResource, showStatus, updateResource, type Target } from '../../../src/cli/actions/resource-actions.ts';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { directoryResources } from '../../../src/platform/linux/resources.ts';
import type { About, Manifest, OfferedLink, OfKind, Resources, Written } from '../../../src/platform/resources.ts';

const configured = { type: 'Configured', status: 'True', lastTransitionTime: '2030-01-01T00:00:00Z', reason: 'Ok', message: '' };

/** A namespace in memory. Writes are processed while a command waits. */
class MemoryResources implements Resources {
  readonly namespace = 'west';
  readonly where = 'memory';
  readonly commandFlags = ' -n west';
  readonly conventions = directoryResources(layoutOf('west', '/nowhere')).conventions;
  readonly #written = new Map<string, Written>();
  readonly #taken = new Map<string, SkupperResource>();

  async list<K extends SkupperResource['kind']>(kind: K): Promise<readonly OfKind<K>[]> {
    return [...this.#taken.values()].filter((resource): resource is OfKind<K> => resource.kind === kind);
  }

  async get<K extends SkupperResource['kind']>(kind: K, name: string): Promise<OfKind<K> | undefined> {
    return (await this.list(kind)).find(({ metadata }) => metadata.name === name);
  }

  async find(kind: string, name: string): Promise<Written | undefined> {
    return this.#written.get(`${kind}/${name}`);
  }

  async written(): Promise<readonly Written[]> {
    return [...this.#written.values()];
  }

  async put(manifest: Manifest): Promise<'created' | 'changed'> {
    const key = `${manifest.kind}/${manifest.metadata.name}`;
    const outcome = this.#written.has(key) ? 'changed' : 'created';
    this.#written.set(key, { manifest, location: 'memory' });
    return outcome;
  }

  async remove(kind: string, name: string): Promise<boolean> {
    return this.#written.delete(`${kind}/${name}`);
  }

  async wait(): Promise<void> {
    this.#taken.clear();
    for (const [key, { manifest }] of this.#written) {
      const { resource } = validateResource(manifest);
      // Every kind has these two fields.
      if (resource !== undefined)
        this.#taken.set(key, { ...resource, status: { status: 'Ready', conditions: [configured] } } as SkupperResource);
    }
  }

  follow(): Disposable {
    return { [Symbol.dispose]: () => {} };
  }

  async lastSeen(): Promise<undefined> {}

  async hasBundle(): Promise<undefined> {}

  async selectorOf(): Promise<string> {
    return 'app=backend';
  }

  async linkTo(): Promise<OfferedLink> {
    return { documents: [] };
  }

  async revoked(): Promise<readonly []> {
    return [];
  }

  readonly renewals = { ask: async () => {}, answerTo: async () => undefined, drop: async () => {} };

  async about(): Promise<About> {
    return { location: ['Memory', 'here'], running: [], routers: [], problems: [] };
  }

  async notRunning(): Promise<undefined> {
    return undefined;
  }
}

test('commands create, change, show and delete resources on any platform, and wait for the result', async () => {
  let out = '';
  const terminal = { out: (text: string) => void (out += text), note: () => {}, input: async () => '' };
  const resources = new MemoryResources();
  const target: Target = { resources, terminal, kind: 'Listener' };
  const options = { timeout: 1000 };
  await createResource(target, 'backend', { routingKey: 'backend', host: '0.0.0.0', port: 8080 }, 'configured', options);
  await assert.rejects(createResource(target, 'backend', { host: '0.0.0.0', port: 1, routingKey: 'b' }, 'configured', options), {
    code: 'exists',
    message: /already exists, in memory\./,
  });
  await updateResource(target, 'backend', { port: 8081 }, 'ready', options);
  await showStatus(target, undefined, undefined);
  await deleteResource(target, 'backend', { wait: true, timeout: 1000 });
  await assert.rejects(showStatus(target, 'backend', undefined), { code: 'not-found' });
  assert.equal(
    out,
    `Listener "backend" is configured.
Listener "backend" is ready.
NAME      ROUTING-KEY   PORT   HOST      STATUS
backend   backend       8081   0.0.0.0   Ready
Listener "backend" is deleted.
`,
  );
  assert.deepEqual(await resources.written(), []);
});
