import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { startLinkedPair, startNginx } from './harness/index.ts';

test('nothing says Ready of a site that has crashed, and nothing does while it starts again', async (t) => {
  await using pair = await startLinkedPair(t, { web: 8080 });
  const { west, east, client, server } = pair;
  await startNginx(server, { port: 8080 });
  await west.waitFor('Listener', 'web');
  await west.kill9();
  for (const command of [['status'], ['site', 'status'], ['listener', 'status', 'web'], ['link', 'status']]) {
    const { stdout: said } = await west.attempt(command);
    assert.match(said, /Pending/, command.join(' '));
    assert.doesNotMatch(said, /Ready *$|Ready  /m, command.join(' '));
  }
  const { stdout } = await west.attempt(['site', 'status', 'west']);
  assert.match(stdout, /no process runs the namespace west; start it with `earshot -n west run`/);
  const waited = await west.attempt(['listener', 'update', 'web', '--port', '8080', '--wait', 'ready', '--timeout', '1s']);
  assert.equal(waited.code, 3, waited.stderr);

  // Whose it cannot reach does not become ready: what is seen is what the start itself makes of the old statuses.
  await east.kill9();
  await west.start();
  const folder = west.layout.runtime.resources;
  const names = (await readdir(folder)).filter((name) => /^(Listener|Link)-/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(`${folder}/${name}`, 'utf8')));
  assert.equal(texts.length, 2);
  for (const text of texts) assert.doesNotMatch(text, /status: Ready/);
  await east.start();
  await west.waitFor('Listener', 'web');
  assert.equal(await client.run(['curl', '-sS', 'http://127.0.0.1:8080/']), 'hello from east\n');
});
