import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { prepareUnit } from '../../../src/cli/actions/playbook-actions.ts';
import { playbookHome } from '../../../src/platform/linux/layout.ts';
import { Namespace } from './namespace.ts';

/** Environment of the container in which `skupper.v2.system` runs the command line. */
async function inPlaybook<T>(west: Namespace, platform: string, run: () => Promise<T>): Promise<T> {
  const environment = { EARSHOT_HOME: undefined, SKUPPER_OUTPUT_PATH: west.home, SKUPPER_PLATFORM: platform };
  const before = Object.keys(environment).map((name) => [name, process.env[name]] as const);
  const set = (entries: readonly (readonly [name: string, value: string | undefined])[]): void => {
    for (const [name, value] of entries) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  };
  set(Object.entries(environment));
  try {
    return await run();
  } finally {
    set(before);
  }
}

/** Writes resources as `skupper.v2.resource` does, with the namespace in each. */
async function addResources(west: Namespace): Promise<void> {
  await mkdir(west.layout.input.resources, { recursive: true });
  for (const [kind, name, spec] of [
    ['Site', 'west', {}],
    ['Listener', 'web', { routingKey: 'web', host: '127.0.0.1', port: 80 }],
  ] as const) {
    const resource = { apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name, namespace: 'west' }, spec };
    await writeFile(join(west.layout.input.resources, `${kind}-${name}.yaml`), JSON.stringify(resource));
  }
}

describe('a playbook of Skupper', { skip: existsSync('/output') && '/output exists here' }, () => {
  for (const [platform, start] of [
    ['linux', /^ExecStart=earshot -n west run /m],
    ['podman', /^ExecStart=podman run .*--name west-skupper-router .*\/namespaces\/west:/m],
    ['docker', /^ExecStart=docker run .*--name west-skupper-router .*\/namespaces\/west:/m],
  ] as const) {
    it(`finds the unit and the platform on ${platform}`, async () => {
      await using west = await Namespace.make();
      await addResources(west);
      let out = '';
      const terminal = { out: (text: string) => void (out += text), note: () => {}, input: async () => '' };
      await inPlaybook(west, platform, () => prepareUnit({ namespace: 'west', platform, home: west.home }, terminal));
      assert.match(out, /skupper-west\.service is written/);
      const unit = await readFile(join(west.layout.internal.root, 'scripts', 'skupper-west.service'), 'utf8');
      assert.match(unit, start);
      assert.doesNotMatch(unit, /^Alias=/m);
      if (platform === 'linux') assert.ok(unit.includes(`Environment=EARSHOT_HOME=${west.home}\n`));
      const written = parse(await readFile(join(west.layout.internal.root, 'platform.yaml'), 'utf8'));
      assert.equal(written.platform, platform);
    });
  }

  for (const [type, file] of [
    ['shell-script', 'skupper-install-west.sh'],
    ['tarball', 'skupper-install-west.tar.gz'],
  ] as const) {
    it(`finds the bundle of type ${type}`, async () => {
      await using west = await Namespace.make();
      await addResources(west);
      const words = ['system', 'generate-bundle', '--type', type, 'skupper-install-west'];
      const { code, err } = await inPlaybook(west, 'podman', () => west.earshot(words));
      assert.equal(code, 0, err);
      assert.ok(existsSync(join(west.home, 'bundles', file)));
    });
  }

  it('is refused without a Site', async () => {
    await using west = await Namespace.make();
    const terminal = { out: () => {}, note: () => {}, input: async () => '' };
    const prepared = inPlaybook(west, 'linux', () => prepareUnit({ namespace: 'west', platform: 'linux', home: west.home }, terminal));
    await assert.rejects(prepared, {
      code: 'not-found',
      message: /Nothing was prepared: .*input\/resources has no Site\. Write one there first/,
    });
  });

  it('is recognised by its mount and its variable', () => {
    const environment = { SKUPPER_OUTPUT_PATH: '/var/lib/skupper' };
    assert.equal(playbookHome(environment, true), '/var/lib/skupper');
    assert.equal(playbookHome(environment, false), undefined);
    assert.equal(playbookHome({ SKUPPER_OUTPUT_PATH: 'relative' }, true), undefined);
    assert.equal(playbookHome({ ...environment, EARSHOT_HOME: '/x' }, true), undefined);
    assert.equal(playbookHome({}, true), undefined);
  });
});
