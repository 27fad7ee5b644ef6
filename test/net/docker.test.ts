/** A router in a container of Docker. Its daemon runs without rules and bridges of its own, so the container uses the host's network. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connector, createNetwork, linkByToken, listener, manifest, startNginx, startSite } from './harness/index.ts';
import { Engine, noEngine } from './harness/engine.ts';

test('a site in a container of Docker links, and stops with its namespace kept', { skip: noEngine ?? false }, async (t) => {
  await using net = await createNetwork({ hosts: ['west', 'east'], test: t });
  const east = await startSite(net.host('east'), { access: true, resources: [connector('web', '127.0.0.1', 80)] });
  await startNginx(net.host('east'), { port: 80 });
  await using engine = await Engine.start(net.host('west'), { engine: 'docker' });
  const west = engine.site('west');
  await west.apply(manifest('Site', 'west'), listener('web', '0.0.0.0', 8080));
  await west.earshot(['system', 'start', '--platform', 'docker']);
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  assert.equal(await net.host('west').run(['curl', '-sS', '--max-time', '20', 'http://127.0.0.1:8080/']), 'hello from east\n');
  assert.match(await west.earshot(['system', 'status']), /Platform: +docker\n[^]*Container: +west-skupper-router, running/);
  assert.match(await west.earshot(['logs', '--tail', '500']), /"message":"running"/);
  await west.earshot(['system', 'stop']);
  assert.equal((await engine.run(['ps', '--all', '--quiet'])).trim(), '');
  assert.equal((await west.attempt(['system', 'status'])).code, 6);
  await west.earshot(['system', 'uninstall', '--purge']);
});
