/** Files of a console in a cluster while it runs. */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { followFiles, readUsers } from '../../../src/cli/actions/console-files.ts';
import { PasswordAccess } from '../../../src/console/password-access.ts';
import { eventually } from '../../harness/wait.ts';
import { aDirectory } from '../platform/support.ts';

const authorization = `Basic ${Buffer.from('ann:pass:word').toString('base64')}`;

test('a file from which the last user is removed signs that user out, and a missing file does not', async (t) => {
  const directory = await aDirectory(t);
  const users = join(directory, 'htpasswd');
  for (const [file, content] of Object.entries({ htpasswd: 'ann:{PLAIN}pass:word', 'tls.crt': 'cert', 'tls.key': 'key' }))
    await writeFile(join(directory, file), content);
  const passwords = new PasswordAccess(await readUsers(users));
  const stop = new AbortController();
  t.after(() => stop.abort());
  let rounds = 0;
  const server = { setTls: () => void (rounds += 1) };
  const followed = followFiles({ tls: directory, users, every: 1 }, { server, passwords }, stop.signal);
  const isAdmitted = async (): Promise<boolean> =>
    typeof (await passwords.admit({ authorization, address: '192.0.2.1', now: 0 })) === 'object';
  const readAgain = async (): Promise<void> => {
    // The first of them may have begun before.
    const before = rounds;
    await eventually('the files are read again', () => rounds >= before + 2);
  };
  assert.ok(await isAdmitted());
  await rm(users);
  await readAgain();
  assert.ok(await isAdmitted());
  await writeFile(users, '# empty');
  await readAgain();
  assert.equal(await isAdmitted(), false);
  stop.abort();
  await followed;
});
