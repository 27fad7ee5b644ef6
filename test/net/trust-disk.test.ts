import assert from 'node:assert/strict';
import { link, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { run } from '../harness/command.ts';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  manifest,
  startNginx,
  startRedis,
  startSite,
  startSteady,
  type Site,
} from './harness/index.ts';

/** A file system of a few megabytes, until the end of the test. */
async function smallDisk(directory: string): Promise<AsyncDisposable> {
  await mkdir(directory, { recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'small', directory]);
  return {
    async [Symbol.asyncDispose]() {
      // The site still runs; what it has open goes with it.
      await run('umount', ['-l', directory]);
    },
  };
}

/** Until not a byte is left. @returns how to give it all back */
async function fill(directory: string): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(directory, 'ballast-'));
  // In large pieces first, and then in as small ones as there are.
  await run('sh', ['-c', 'dd if=/dev/zero of=most bs=64k 2>/dev/null; dd if=/dev/zero of=rest bs=512 2>/dev/null; true'], { cwd: folder });
  return () => rm(folder, { recursive: true });
}

/** The text of a resource that is written down now and takes effect when it is renamed, which neither needs space nor frees any. */
async function prepared(site: Site, resource: ReturnType<typeof listener>): Promise<() => Promise<void>> {
  const path = join(site.layout.input.resources, `${resource.kind}-${resource.metadata.name}.yaml`);
  await writeFile(`${path}.later`, JSON.stringify(resource));
  // By another name, what is replaced keeps its space.
  await link(path, `${path}.before`);
  return () => rename(`${path}.later`, path);
}

// Side by side: they wait more than they work.
describe('state', { concurrency: 2 }, () => {
  it('a site whose disk is full runs on and says so, and what it could not write is there once there is space', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const [client, server] = [net.host('west'), net.host('east')];
    const home = `${client.dir}/small`;
    await using _disk = await smallDisk(home);
    const [east, west] = await Promise.all([
      startSite(server, { access: true, resources: [connector('web', '127.0.0.1', 80), connector('steady', '127.0.0.1', 6379)] }),
      startSite(client, { home, access: true, resources: [listener('web', '127.0.0.1', 8080), listener('steady', '127.0.0.1', 6379)] }),
    ]);
    await startNginx(server, { port: 80 });
    await startRedis(server, { port: 6379 });
    await linkByToken(west, east);
    for (const key of ['web', 'steady']) await west.waitFor('Listener', key);
    await west.apply(manifest('AccessGrant', 'later', {}));
    const grant = await west.waitFor('AccessGrant', 'later');
    const steady = await startSteady(client, 6379);
    const move = await prepared(west, listener('web', '127.0.0.1', 8081));
    const free = await fill(home);
    const page = async (port: number): Promise<string> =>
      (await client.attempt(['curl', '-sS', '--max-time', '5', `http://127.0.0.1:${port}/`])).stdout;

    // A write under way left behind the space of the file that it replaced.
    const freeRest = await fill(home);
    await move();
    await eventually('the new port', async () => (await page(8081)) === 'hello from east\n');
    await east.remove('Connector', 'web');
    await eventually('a closed port', async () => (await page(8081)) === '');
    await eventually('word of it in the log', () =>
      /cannot be written \(ENOSPC\): the disk is full; free some space; the write is retried/.test(west.process.output),
    );
    assert.equal(await west.metric('earshot_status_files_unwritable', { files: 'statuses' }), 1);
    await east.apply(connector('web', '127.0.0.1', 80));
    await eventually('the port to open again', async () => (await page(8081)) === 'hello from east\n');
    // A redemption that cannot be recorded does not count.
    await east.apply(manifest('AccessToken', 'back', { url: grant['url'], code: grant['code'], ca: grant['ca'] }));
    await east.waitFor('AccessToken', 'back', 'Error');
    await steady.unharmed();

    await free();
    await freeRest();
    await west.waitFor('Listener', 'web', ({ status }) => status === 'Ready');
    await eventually('the status of the new port', async () => (await west.read('Listener', 'web'))?.spec?.['port'] === 8081);
    await eventually('word of that too', () => /statuses can be written again/.test(west.process.output));
    await east.waitFor('AccessToken', 'back', 'Ready', { timeoutMs: 90_000 });
    await west.waitFor('AccessGrant', 'later', ({ redemptions }) => redemptions === 1);
    await steady.unharmed();

    // It was killed with a full disk, and the next start has no more space than that.
    const again = await fill(home);
    await west.kill9();
    await west.attempt(['status']);
    await again();
    await west.start();
    await west.waitFor('Listener', 'web');
    assert.equal(await page(8081), 'hello from east\n');
    await fill(home);
    await west.stop();
  });

  it('damaged state is named with its file, and nothing is made in its place', async (t) => {
    await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
    const [east, west] = await Promise.all([startSite(net.host('east'), { access: true }), startSite(net.host('west'))]);
    await linkByToken(west, east);
    await east.apply(manifest('AccessGrant', 'g', {}));
    await east.waitFor('AccessGrant', 'g');
    await Promise.all([east.kill9(), west.kill9()]);
    const { internal } = east.layout;
    await writeFile(join(internal.grants, 'g.json'), '{"name": "g", "cod');
    await east.start();
    const { message } = await east.waitFor('AccessGrant', 'g', 'Error');
    assert.match(
      message ?? '',
      /grants\/g\.json is damaged, so the number of redemptions of grant g is unknown and its tokens are refused\. Restore/,
    );
    await east.kill9();

    await writeFile(internal.identityKey, '-----BEGIN PRIVATE KEY-----\nnonsense');
    await east.start();
    const site = await east.waitFor('Site', 'east', 'Error');
    assert.match(site.message ?? '', /^the router cannot start: .*identity\.key is damaged: .*To create a new identity, delete the file/);
    assert.match((await east.attempt(['status'])).stdout, /identity\.key is damaged/);
  });
});
