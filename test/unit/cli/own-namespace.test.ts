import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { homeIn, otherUser } from '../../../src/cli/own-namespace.ts';

const PASSWD = 'root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\nodd:x:1:1\n';
const homeOf = (user: string): string | undefined => homeIn(PASSWD, user);

describe('another user who may have the namespace', () => {
  it('is root for others: by its directory, or by the unit of the system', () => {
    const found = otherUser('west', { env: {}, uid: 1000, home: '/home/alice' }, homeOf);
    assert.equal(found?.name, 'root');
    assert.deepEqual(found.signs, ['/var/lib/earshot/namespaces/west', '/etc/systemd/system/earshot-west.service']);
    assert.match(found.advice, /sudo/);
  });

  it('is the user who ran sudo, for root', () => {
    const found = otherUser('west', { env: { SUDO_USER: 'alice', XDG_DATA_HOME: '/root/data' }, uid: 0, home: '/root' }, homeOf);
    assert.deepEqual(
      [found?.name, found?.signs, found?.advice],
      ['alice', ['/home/alice/.local/share/earshot/namespaces/west'], 'try again without sudo'],
    );
  });

  it('is unknown to root without sudo, and where EARSHOT_HOME says which namespaces are meant', () => {
    assert.equal(otherUser('west', { env: {}, uid: 0, home: '/root' }, homeOf), undefined);
    for (const name of ['root', 'gone', 'odd', ''])
      assert.equal(otherUser('west', { env: { SUDO_USER: name }, uid: 0, home: '/root' }, homeOf), undefined);
    for (const uid of [0, 1000])
      assert.equal(otherUser('west', { env: { EARSHOT_HOME: '/x', SUDO_USER: 'alice' }, uid, home: '/root' }, homeOf), undefined);
  });
});
