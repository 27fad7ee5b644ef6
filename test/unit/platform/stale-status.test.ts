import assert from 'node:assert/strict';
import { readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { cannotStart, starting } from '../../../src/agent/stale-status.ts';
import { markedText, markStale, stopped } from '../../../src/platform/linux/stale-status.ts';
import { aDirectory } from './support.ts';

const NOW = '2030-01-01T00:00:00Z';

const ready = `
apiVersion: skupper.io/v2alpha1
kind: Listener
metadata: {name: web}
spec: {routingKey: web, host: 127.0.0.1, port: 8080}
status:
  status: Ready
  message: OK
  hasMatchingConnector: true
  conditions:
    - {type: Ready, status: "True", lastTransitionTime: "2029-01-01T00:00:00Z", reason: Ready, message: OK}
`;

test('a status of an earlier process says that the router starts, and nothing of it is known', () => {
  assert.deepEqual(parse(markedText(ready, starting, NOW) ?? ''), {
    apiVersion: 'skupper.io/v2alpha1',
    kind: 'Listener',
    metadata: { name: 'web' },
    spec: { routingKey: 'web', host: '127.0.0.1', port: 8080 },
    status: {
      status: 'Pending',
      message: 'the router starts',
      conditions: [{ type: 'Ready', status: 'Unknown', lastTransitionTime: NOW, reason: 'Starting', message: 'the router starts' }],
    },
  });
});

test('a Link goes on saying where its site is reached, which nothing else remembers', () => {
  const [endpoints, remoteSiteId] = [[{ host: '192.0.2.7', port: '55671' }], 'some'];
  const link = JSON.stringify({ kind: 'Link', status: { message: 'OK', endpoints, remoteSiteId } });
  const site = JSON.stringify({ kind: 'Site', status: { message: 'OK', endpoints } });
  assert.deepEqual(parse(markedText(link, starting, NOW) ?? '').status, {
    status: 'Pending',
    message: 'the router starts',
    remoteSiteId,
    endpoints,
    conditions: [],
  });
  assert.equal(parse(markedText(site, starting, NOW) ?? '').status.endpoints, undefined);
});

test('a status that says so already is left alone', () => {
  const once = markedText(ready, starting, NOW) ?? '';
  assert.equal(markedText(once, starting, '2031-01-01T00:00:00Z'), undefined);
  assert.match(markedText(once, stopped('west'), NOW) ?? '', /no process runs the namespace west; start it with `earshot -n west run`/);
  assert.match(
    markedText(once, cannotStart('the key is damaged'), NOW) ?? '',
    /status: Error\n {2}message: "the router cannot start: the key is damaged"/,
  );
});

test('files that are not resources are left alone, and unreadable ones are removed', async (t) => {
  const directory = await aDirectory(t);
  await writeFile(join(directory, 'Listener-web.yaml'), ready);
  await writeFile(join(directory, 'Listener-torn.yaml'), 'status: {status: Ready');
  await writeFile(join(directory, 'Listener-empty.yaml'), '');
  await writeFile(join(directory, 'AccessGrant-east.yaml'), ready.replace('Listener', 'AccessGrant'));
  await writeFile(join(directory, 'notes.txt'), ready);
  await markStale(directory, starting, NOW);
  assert.deepEqual((await readdir(directory)).sort(), ['AccessGrant-east.yaml', 'Listener-empty.yaml', 'Listener-web.yaml', 'notes.txt']);
  assert.equal((await stat(join(directory, 'AccessGrant-east.yaml'))).mode & 0o777, 0o600);
  assert.match(await readFile(join(directory, 'Listener-web.yaml'), 'utf8'), /the router starts/);
});

test('a status that cannot be rewritten is deleted, so that it does not keep saying Ready', async (t) => {
  const directory = await aDirectory(t);
  // The name of a draft has some more bytes than this one, and at most 255 are allowed: writing fails, for root too.
  const file = join(directory, `Listener-${'ä'.repeat(115)}.yaml`);
  await writeFile(file, ready);
  await markStale(directory, starting, NOW);
  await assert.rejects(stat(file), { code: 'ENOENT' });
});

test('a directory that is not there has no statuses', async (t) => {
  const directory = await aDirectory(t);
  await rm(directory, { recursive: true });
  await markStale(directory, starting, NOW);
  await assert.rejects(stat(directory), { code: 'ENOENT' });
});

test('a link to a file elsewhere is removed, and the content of that file is not copied', async (t) => {
  const [directory, elsewhere] = [await aDirectory(t), await aDirectory(t)];
  await writeFile(join(elsewhere, 'secret.yaml'), ready);
  await symlink(join(elsewhere, 'secret.yaml'), join(directory, 'Listener-web.yaml'));
  await markStale(directory, starting, NOW);
  assert.deepEqual(await readdir(directory), []);
  assert.equal(await readFile(join(elsewhere, 'secret.yaml'), 'utf8'), ready);
});
