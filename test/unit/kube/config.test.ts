import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { loadConfig } from '../../../src/kube/client/config.ts';
import { kubeconfigFiles } from '../../../src/kube/client/kubeconfig-files.ts';
import type { Connection } from '../../../src/kube/client/connection.ts';

const folder = (): ReturnType<typeof mkdtempDisposable> => mkdtempDisposable(join(tmpdir(), 'earshot-config-'));

interface Parts {
  readonly cluster?: object;
  readonly user?: object;
  readonly context?: object;
  readonly more?: object;
}

function kubeconfig({ cluster, user, context, more }: Parts): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', ...context } }],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user: { ...user } }],
    ...more,
  });
}

/** Reads a kubeconfig with these parts, in a folder that holds these files too. */
async function load(parts: Parts, files: Readonly<Record<string, string>> = {}): Promise<Connection> {
  await using home = await folder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(home.path, name), text);
  const path = join(home.path, 'kubeconfig');
  await writeFile(path, kubeconfig(parts));
  const source = await loadConfig({ kubeconfig: path });
  // Files are read on the way, and the folder goes when this returns.
  return await source.load();
}

/** Node as a program for credentials, but for its arguments. */
const plugin = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath };

describe('a kubeconfig', () => {
  it('gives server, authority and token', async () => {
    const cluster = { 'certificate-authority-data': Buffer.from('CA').toString('base64') };
    const connection = await load({ cluster, user: { token: 't\n' } });
    assert.deepEqual(connection, { server: 'https://127.0.0.1:6443', ca: 'CA', token: 't' });
  });

  it('names files relative to its own folder, and its data wins over them', async () => {
    const files = { 'ca.crt': 'CA', 'me.crt': 'CERT', 'me.key': 'KEY', token: 'from-file\n' };
    const user = {
      'client-certificate': 'me.crt',
      'client-key': 'me.key',
      'client-key-data': Buffer.from('DATA').toString('base64'),
      tokenFile: 'token',
      token: 'inline',
    };
    const connection = await load({ cluster: { 'certificate-authority': 'ca.crt', 'tls-server-name': 'kubernetes' }, user }, files);
    assert.deepEqual(connection, {
      server: 'https://127.0.0.1:6443',
      ca: 'CA',
      cert: 'CERT',
      key: 'DATA',
      token: 'from-file',
      serverName: 'kubernetes',
    });
  });

  it('names the namespace of its context', async () => {
    await using home = await folder();
    const path = join(home.path, 'kubeconfig');
    await writeFile(path, kubeconfig({ context: { namespace: 'mine' } }));
    assert.equal((await loadConfig({ kubeconfig: path })).namespace, 'mine');
  });

  const refused: readonly (readonly [what: string, parts: Parts, message: RegExp])[] = [
    ['that acts for another user', { user: { as: 'other' } }, /as, which Earshot does not support: use a client certificate/],
    ['whose program speaks an unknown version', { user: { exec: { command: 'aws' } } }, /exec needs a command and one of the apiVersions/],
    [
      'whose program is not there',
      { user: { exec: { ...plugin, command: './missing', installHint: 'Install it.' } } },
      /missing gave no credentials: the program does not exist\. Install it\./,
    ],
    ['whose program fails', { user: { exec: { ...plugin, args: ['-e', 'process.exit(3)'] } } }, /it exited with 3/],
    ['whose program answers nonsense', { user: { exec: { ...plugin, args: ['-e', 'console.log(1)'] } } }, /printed neither a token/],
    ['with a password', { user: { username: 'me', password: 'x' } }, /username/],
    ['that goes through a proxy', { cluster: { 'proxy-url': 'http://p' } }, /proxy-url/],
    ['without a current context', { more: { 'current-context': '' } }, /names no current-context; set one with/],
    ['whose context names no such cluster', { context: { cluster: 'other' } }, /clusters has no entry "other"/],
    ['whose server is no URL', { cluster: { server: '10.0.0.1' } }, /must be an http or https URL, not "10\.0\.0\.1"/],
    ['with a certificate but no key', { user: { 'client-certificate-data': 'QQ==' } }, /must both be set/],
    ['with a token that would break a header', { user: { token: 'a\r\nb: c' } }, /has invalid characters/],
    ['with a file that is not there', { user: { tokenFile: 'missing' } }, /Cannot read .*missing/],
    ['whose field has the wrong type', { user: { token: 7 } }, /token must be a string/],
  ];
  for (const [what, parts, message] of refused) {
    it(`${what} is refused with what to do`, async () => {
      await assert.rejects(load(parts), { code: 'kube-config', message });
    });
  }

  it('that is no YAML, or no mapping, is refused', async () => {
    await using home = await folder();
    const path = join(home.path, 'kubeconfig');
    for (const text of ['a: [', 'just text', '']) {
      await writeFile(path, text);
      await assert.rejects(loadConfig({ kubeconfig: path }), { code: 'kube-config' }, text);
    }
  });
});

describe('a program for credentials', () => {
  const print = (status: string): readonly string[] => ['-e', `console.log(JSON.stringify({ status: ${status} }))`];

  it('gives a token, knowing its environment and the cluster', async () => {
    const status = '{ token: process.env.WHO + JSON.parse(process.env.KUBERNETES_EXEC_INFO).spec.cluster.server.length }';
    const exec = { ...plugin, args: print(status), env: [{ name: 'WHO', value: 'me' }], provideClusterInfo: true };
    assert.equal((await load({ user: { exec } })).token, 'me22');
  });

  it('gives a certificate with its key', async () => {
    const exec = { ...plugin, args: print("{ clientCertificateData: 'CERT', clientKeyData: 'KEY' }") };
    const { cert, key } = await load({ user: { exec } });
    assert.deepEqual([cert, key], ['CERT', 'KEY']);
  });

  it('is not asked where a token stands there', async () => {
    assert.equal((await load({ user: { token: 'own', exec: { ...plugin, command: './missing' } } })).token, 'own');
  });
});

describe('several kubeconfigs', () => {
  it('count as one: of what two have, the first counts, and files are looked for beside the one that names them', async () => {
    await using home = await folder();
    await mkdir(join(home.path, 'b'));
    const [a, b] = [join(home.path, 'a'), join(home.path, 'b', 'config')];
    await writeFile(a, JSON.stringify({ clusters: [{ name: 'c', cluster: { server: 'https://first' } }] }));
    await writeFile(b, kubeconfig({ user: { tokenFile: 'token' }, context: { namespace: 'mine' } }));
    await writeFile(join(home.path, 'b', 'token'), 'beside');
    const source = await loadConfig({ kubeconfig: [a, b] });
    assert.deepEqual(
      [await source.load(), source.context, source.namespace],
      [{ server: 'https://first', token: 'beside' }, 'here', 'mine'],
    );
  });

  it('are those of KUBECONFIG that are there, else that of the home directory', async () => {
    await using home = await folder();
    const [a, b] = [join(home.path, 'a'), join(home.path, '.kube', 'config')];
    await mkdir(join(home.path, '.kube'));
    await Promise.all([writeFile(a, ''), writeFile(b, '')]);
    assert.deepEqual(kubeconfigFiles({ KUBECONFIG: `${a}:${home.path}/missing::${a}` }, home.path), [a]);
    assert.deepEqual(kubeconfigFiles({}, home.path), [b]);
    assert.deepEqual(kubeconfigFiles({}, join(home.path, 'nobody')), []);
  });

  it('have contexts to choose from', async () => {
    await using home = await folder();
    const path = join(home.path, 'kubeconfig');
    const contexts = ['here', 'there'].map((name) => ({ name, context: { cluster: name, namespace: name } }));
    const clusters = contexts.map(({ name }) => ({ name, cluster: { server: `https://${name}` } }));
    await writeFile(path, kubeconfig({ more: { contexts, clusters } }));
    const source = await loadConfig({ kubeconfig: path, context: 'there' });
    assert.deepEqual([(await source.load()).server, source.context, source.namespace], ['https://there', 'there', 'there']);
    await assert.rejects(loadConfig({ kubeconfig: path, context: 'nowhere' }), { code: 'kube-config', message: /no entry "nowhere"/ });
  });
});

describe("a pod's service account", () => {
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };

  it('gives the server of the environment and the files as they are now', async () => {
    await using home = await folder();
    const write = (name: string, text: string): Promise<void> => writeFile(join(home.path, name), text);
    await Promise.all([write('token', 'one\n'), write('ca.crt', 'CA'), write('namespace', 'earshot\n')]);
    const source = await loadConfig({ environment, serviceAccountFolder: home.path });
    assert.equal(source.namespace, 'earshot');
    assert.deepEqual(await source.load(), { server: 'https://[fd00::1]:6443', ca: 'CA', token: 'one' });
    await write('token', 'two');
    assert.equal((await source.load()).token, 'two');
  });

  it('is missed with a word on what to do', async () => {
    await using home = await folder();
    await assert.rejects(loadConfig({ environment: {} }), /name a kubeconfig with --kubeconfig/);
    await assert.rejects(loadConfig({ environment, serviceAccountFolder: home.path }), /automountServiceAccountToken/);
  });
});
