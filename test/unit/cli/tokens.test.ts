import assert from 'node:assert/strict';
import { appendFile, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { readToken } from '../../../src/trust/tokens/token.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { eventually } from '../../harness/wait.ts';
import { Namespace } from './namespace.ts';

const { ca } = makeAuthority({ name: 'east' });
const ready = {
  status: 'Ready',
  url: 'https://west.example.com:9090/v1/redeem/east',
  code: 'codeofthegrant',
  ca,
  expirationTime: '2030-01-01T00:00:00Z',
};
const token = {
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'AccessToken',
  metadata: { name: 'to-east' },
  spec: { url: ready.url, code: ready.code, ca },
};

async function running(linkAccess = 'default'): Promise<Namespace> {
  const west = await Namespace.make();
  await west.run();
  await west.answer('Site', 'west', { linkAccess }, { status: 'Ready' });
  return west;
}

const files = (west: Namespace): Promise<readonly string[]> => readdir(west.layout.input.resources).catch(() => []);

describe('a token command with --create-site', () => {
  const siteFile = 'Site-west.yaml';

  it('creates a site that accepts links, and then issues', async () => {
    await using west = await Namespace.make();
    await west.run();
    const file = join(west.home, 'token.yaml');
    const issued = west.earshot(['token', 'issue', file, '--name', 'east', '--create-site', 'west']);
    await eventually('the site', async () => (await files(west)).includes(siteFile));
    assert.equal(parse((await west.text(siteFile)) ?? '').spec.linkAccess, 'default');
    await eventually('the grant', async () => (await files(west)).includes('AccessGrant-east.yaml'));
    await west.answer('AccessGrant', 'east', {}, ready);
    const { code, out } = await issued;
    assert.deepEqual([code, out], [0, `Site "west" is created.\nWrote token file ${file}.\n`]);
  });

  it('leaves a site of that name as it is, and refuses another one', async () => {
    await using west = await running();
    const same = west.earshot(['token', 'issue', '-', '--name', 'east', '--create-site', 'west']);
    await eventually('the grant', async () => (await files(west)).includes('AccessGrant-east.yaml'));
    await west.answer('AccessGrant', 'east', {}, ready);
    assert.equal((await same).code, 0);
    assert.ok(!(await files(west)).includes(siteFile));
    const other = await west.earshot(['token', 'issue', '-', '--create-site', 'west-2']);
    assert.equal(other.code, 5);
    assert.match(other.err, /already has a site: "west"/);
  });

  it('creates no site if the token file is missing or invalid', async () => {
    await using west = await Namespace.make();
    await west.put('../token.yaml', 'kind: Listener');
    for (const file of ['missing.yaml', join(west.layout.input.root, 'token.yaml')])
      assert.notEqual((await west.earshot(['token', 'redeem', file, '--create-site', 'west'])).code, 0);
    assert.deepEqual(await files(west), []);
  });
});

describe('token issue', () => {
  it('makes a grant, waits for it, and writes a file for its user alone', async () => {
    await using west = await running();
    const file = join(west.home, 'out', 'token.yaml');
    const issued = west.earshot([
      'token',
      'issue',
      file,
      '--name',
      'east',
      '--redemptions-allowed',
      '3',
      '--expiration-window',
      '1h',
      '--cost',
      '5',
    ]);
    await eventually('the grant', async () => (await files(west)).includes('AccessGrant-east.yaml'));
    assert.deepEqual(parse((await west.text('AccessGrant-east.yaml')) ?? '').spec, { redemptionsAllowed: 3, expirationWindow: '1h' });
    await west.answer('AccessGrant', 'east', {}, ready);
    const { code, out, err } = await issued;
    assert.deepEqual([code, out], [0, `Wrote token file ${file}.\n`]);
    assert.match(err, /redeem it there until 2030-01-01T00:00:00Z: `earshot token redeem /);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const { kind, metadata, spec } = parse(await readFile(file, 'utf8'));
    assert.deepEqual(
      { kind, metadata, spec },
      { kind: 'AccessToken', metadata: { name: 'east' }, spec: { url: ready.url, code: ready.code, ca, linkCost: 5 } },
    );
  });

  it('leads to the address that was asked for, then to the others, and says so', async () => {
    await using west = await Namespace.make();
    await west.run();
    const endpoints = ['192.0.2.2', '2001:db8::2', 'west.example.com', 'west'].map((host) => ({ name: 'edge', host, port: '45671' }));
    await west.answer('Site', 'west', { linkAccess: 'default' }, { status: 'Ready', endpoints });
    await west.put(
      'grant.yaml',
      JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'mine' }, spec: {} }),
    );
    await west.answer('AccessGrant', 'mine', {}, { ...ready, url: 'https://192.0.2.2:9090/v1/redeem/mine' });
    const issue = (...more: readonly string[]) => west.earshot(['token', 'issue', '-', '--grant', 'mine', ...more]);
    const usual = await issue();
    assert.equal(parse(usual.out).spec.url, 'https://192.0.2.2:9090/v1/redeem/mine');
    assert.match(
      usual.err,
      /^Its link connects to 192\.0\.2\.2, alternatively to 2001:db8::2, alternatively to west\.example\.com\. To try another address first, use --host\.$/m,
    );
    const chosen = parse((await issue('--host', 'west')).out);
    assert.equal(chosen.spec.url, 'https://west:9090/v1/redeem/mine');
    const [first, second, third] = readToken(JSON.stringify(chosen), 'it').otherUrls ?? [];
    assert.deepEqual(
      [first, second, third],
      ['192.0.2.2', '[2001:db8::2]', 'west.example.com'].map((host) => `https://${host}:9090/v1/redeem/mine`),
    );
    const unknown = await issue('--host', '198.51.100.1');
    assert.equal(unknown.code, 1);
    assert.match(
      unknown.err,
      /no address "198\.51\.100\.1" for other sites; it has 192\.0\.2\.2, 2001:db8::2, west\.example\.com, west\. .*subjectAlternativeNames/,
    );
  });

  it('takes a grant that is there', async () => {
    await using west = await running();
    const grant = { apiVersion: 'skupper.io/v2alpha1', kind: 'AccessGrant', metadata: { name: 'mine' }, spec: {} };
    await west.put('grant.yaml', JSON.stringify(grant));
    await west.answer('AccessGrant', 'mine', {}, ready);
    const { code, out } = await west.earshot(['token', 'issue', '-', '--grant', 'mine', '--name', 'to-west']);
    assert.deepEqual([code, parse(out).metadata], [0, { name: 'to-west' }]);
    assert.equal((await west.earshot(['token', 'issue', '-', '--grant', 'other'])).code, 4);
  });

  it('takes the word of a site that has just been started, before anything is written back', async () => {
    await using west = await Namespace.make();
    await west.run();
    const site = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name: 'west' }, spec: { linkAccess: 'default' } };
    await west.put('site.yaml', JSON.stringify(site));
    const file = join(west.home, 'token.yaml');
    const issued = west.earshot(['token', 'issue', file, '--name', 'east']);
    await eventually('the grant', async () => (await files(west)).includes('AccessGrant-east.yaml'));
    await west.answer('AccessGrant', 'east', {}, ready);
    assert.equal((await issued).code, 0);
  });

  it('takes the grant back when it comes to nothing', async () => {
    await using west = await running();
    const { code } = await west.earshot(['token', 'issue', join(west.home, 'token.yaml'), '--timeout', '100ms']);
    assert.equal(code, 3);
    assert.deepEqual(await files(west), []);
  });

  it('is refused at a site that lets no one in', async () => {
    await using west = await running('none');
    await west.answer('RouterAccess', 'local', { roles: [{ name: 'normal' }], tlsCredentials: 'local' }, { status: 'Error' });
    const { code, err } = await west.earshot(['token', 'issue', join(west.home, 'token.yaml')]);
    assert.equal(code, 1);
    assert.match(err, /`earshot -n west site update --enable-link-access`/);
  });
});

describe('token redeem', () => {
  const redeem = (west: Namespace, ...more: readonly string[]) => west.earshot(['token', 'redeem', '-', ...more], JSON.stringify(token));

  it('hands the token over and waits for its link', async () => {
    await using west = await running();
    const done = redeem(west, '--link-cost', '7');
    await eventually('the token', async () => (await files(west)).includes('AccessToken-to-east.yaml'));
    assert.equal((await stat(join(west.layout.input.resources, 'AccessToken-to-east.yaml'))).mode & 0o777, 0o600);
    await west.answer('Link', 'to-east', { endpoints: [] }, { status: 'Ready', remoteSiteName: 'east' });
    await west.answer('AccessToken', 'to-east', { ...token.spec, linkCost: 7 }, { status: 'Ready', redeemed: true });
    assert.deepEqual(await done.then(({ code, out }) => [code, out]), [0, 'Link "to-east" is ready: it connects to site "east".\n']);
  });

  it('takes the token out again where it is refused', async () => {
    await using west = await running();
    await west.answer('AccessToken', 'to-east', { ...token.spec, linkCost: 1 }, { status: 'Error', message: 'it has expired' });
    const { code, err } = await redeem(west, '--timeout', '100ms', '--link-cost', '1');
    assert.equal(code, 1);
    assert.match(err, /it has expired\. The token was removed from the namespace, so it is not tried again\.\n$/);
    assert.deepEqual(await files(west), []);
  });

  it('does not say of a removed token that its redemption is retried', async () => {
    await using west = await running();
    const message = 'the clock is wrong. The redemption is retried.';
    await west.answer('AccessToken', 'to-east', { ...token.spec, linkCost: 1 }, { status: 'Error', message });
    const { err } = await redeem(west, '--timeout', '100ms', '--link-cost', '1');
    assert.match(err, /the clock is wrong\. The token was removed from the namespace, so it is not tried again\.\n$/);
    assert.deepEqual(await files(west), []);
  });

  it('leaves it to go on where it is only late', async () => {
    await using west = await running();
    const { code, err } = await redeem(west, '--timeout', '100ms');
    assert.equal(code, 3);
    assert.match(err, /The site continues to try the token; `earshot -n west link delete to-east` stops it\.\n$/);
    assert.deepEqual(await files(west), ['AccessToken-to-east.yaml']);
  });

  it('that made a link leaves that to be tried, and says so', async () => {
    await using west = await running();
    await west.answer('AccessToken', 'to-east', { ...token.spec, linkCost: 1 }, { status: 'Ready', redeemed: true });
    const link = { apiVersion: 'skupper.io/v2alpha1', kind: 'Link', metadata: { name: 'to-east' }, spec: { endpoints: [] } };
    await west.put('AccessToken-to-east.yaml', JSON.stringify(token));
    await west.write(join(west.layout.internal.links, 'Link-to-east.yaml'), JSON.stringify(link));
    await west.answer('Link', 'to-east', { endpoints: [] }, { status: 'Error', message: 'no way there' });
    const { code, err } = await redeem(west, '--timeout', '100ms', '--link-cost', '1');
    assert.equal(code, 1);
    assert.match(err, /no way there\. The site continues to try the link; `earshot -n west link delete to-east` stops it\.\n$/);
    assert.deepEqual(await files(west), ['AccessToken-to-east.yaml']);
  });

  it('does not take the place of another link', async () => {
    await using west = await running();
    const link = { apiVersion: 'skupper.io/v2alpha1', kind: 'Link', metadata: { name: 'to-east' }, spec: { endpoints: [] } };
    await west.put('link.yaml', JSON.stringify(link));
    const { code, err } = await redeem(west);
    assert.equal(code, 5);
    assert.match(err, /Link "to-east" already exists: choose another name with --name/);
  });

  it('names the field of a token that is mangled, and not its code', async () => {
    await using west = await running();
    const { code, err } = await west.earshot(
      ['token', 'redeem', '-'],
      JSON.stringify({ ...token, spec: { ...token.spec, url: 'ftp://x' } }),
    );
    assert.equal(code, 1);
    assert.match(err, /url/);
    assert.doesNotMatch(err, /codeofthegrant/);
    assert.deepEqual(await files(west), []);
  });
});

describe('link', () => {
  const offered = (host: string) => `---
apiVersion: v1
kind: Secret
metadata: {name: link-west}
type: kubernetes.io/tls
data: {tls.key: a2V5}
---
apiVersion: skupper.io/v2alpha1
kind: Link
metadata: {name: link-west}
spec: {cost: 1, tlsCredentials: link-west, endpoints: [{name: inter-router, host: ${host}, port: "55671"}]}
`;

  it('generate waits for the link that another machine can use, and prints it with the name and cost of the command', async () => {
    await using west = await running();
    const endpoints = ['127.0.0.1', 'west.example.com'].map((host) => ({ name: 'inter-router', host, port: '55671', group: 'west' }));
    await west.answer('Site', 'west', { linkAccess: 'default' }, { status: 'Ready', endpoints });
    const file = (host: string): string => join(west.layout.runtime.links, `link-west-${host}.yaml`);
    const printed = west.earshot(['link', 'generate', 'to-west', '--cost', '3', '-o', 'json']);
    await west.write(file('west.example.com'), offered('west.example.com'));
    const [secret, link] = JSON.parse((await printed).out).items;
    assert.deepEqual(
      [secret.metadata.name, link.metadata.name, link.spec.tlsCredentials, link.spec.cost],
      ['to-west', 'to-west', 'to-west', 3],
    );
    assert.equal(link.spec.endpoints[0].host, 'west.example.com');
    await west.write(file('127.0.0.1'), offered('127.0.0.1'));
    const chosen = await west.earshot(['link', 'generate', '--host', '127.0.0.1']);
    assert.match(chosen.out, /^---\napiVersion: v1\n.*host: "127\.0\.0\.1"$/ms);
  });

  it('generate does not wait for a host at which the site is unreachable', async () => {
    await using west = await running();
    const endpoints = [{ name: 'inter-router', host: 'west.example.com', port: '55671', group: 'west' }];
    await west.answer('Site', 'west', { linkAccess: 'default' }, { status: 'Ready', endpoints });
    const { code, err } = await west.earshot(['link', 'generate', '--host', 'nowhere']);
    assert.equal(code, 4);
    assert.match(err, /no address "nowhere" for other sites; it has west\.example\.com/);
  });

  it('generate waits for a site that has just started, and is refused without link access', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.earshot(['site', 'create', 'west', '--enable-link-access', '--wait', 'none']);
    const early = await west.earshot(['link', 'generate', '--timeout', '100ms']);
    assert.equal(early.code, 3);
    assert.match(early.err, /the site does not listen for links yet/);
    await west.answer('Site', 'west', { linkAccess: 'none' }, { status: 'Ready' });
    await west.answer('RouterAccess', 'local', { roles: [{ name: 'normal' }], tlsCredentials: 'local' }, { status: 'Error' });
    const refused = await west.earshot(['link', 'generate', '--timeout', '100ms']);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /Other sites cannot link to this one/);
  });

  it('update --host leads the link to another host, at the same ports', async () => {
    await using west = await Namespace.make();
    const endpointsAt = (host: string) => [
      { name: 'inter-router', host, port: '55671', group: 'east' },
      { name: 'edge', host, port: '45671', group: 'east' },
    ];
    const spec = { endpoints: [...endpointsAt('192.0.2.1'), ...endpointsAt('east.example.com')], tlsCredentials: 'to-east', cost: 3 };
    const link = { apiVersion: 'skupper.io/v2alpha1', kind: 'Link', metadata: { name: 'to-east' }, spec };
    const file = join(west.layout.internal.links, 'Link-to-east.yaml');
    await west.write(file, JSON.stringify(link));
    assert.equal((await west.earshot(['link', 'update', 'to-east', '--host', '192.0.2.9'])).code, 0);
    assert.deepEqual(parse(await readFile(file, 'utf8')).spec, { ...spec, endpoints: endpointsAt('192.0.2.9') });
    const withPort = await west.earshot(['link', 'update', 'to-east', '--host', '192.0.2.9:55671']);
    assert.equal(withPort.code, 2);
    assert.match(withPort.err, /"192\.0\.2\.9:55671" is not a host: give a name or an address without a port\./);
    assert.equal((await west.earshot(['link', 'update', 'missing', '--host', '192.0.2.9'])).code, 4);
  });

  it('delete takes out the token that it came of as well', async () => {
    await using west = await Namespace.make();
    await west.put('AccessToken-to-east.yaml', JSON.stringify(token));
    const link = { apiVersion: 'skupper.io/v2alpha1', kind: 'Link', metadata: { name: 'to-east' }, spec: { endpoints: [] } };
    await west.write(join(west.layout.internal.links, 'Link-to-east.yaml'), JSON.stringify(link));
    assert.equal((await west.earshot(['link', 'update', 'to-east', '--cost', '4'])).code, 0);
    assert.equal(parse(await readFile(join(west.layout.internal.links, 'Link-to-east.yaml'), 'utf8')).spec.cost, 4);
    assert.equal((await west.earshot(['link', 'delete', 'to-east'])).code, 0);
    assert.deepEqual([await files(west), await readdir(west.layout.internal.links)], [[], []]);
  });

  it('delete takes out all links that a token of a site with two routers became, and one by its own name alone', async () => {
    await using west = await Namespace.make();
    const created = async (): Promise<void> => {
      await west.put('AccessToken-to-east.yaml', JSON.stringify(token));
      for (const name of ['to-east-1', 'to-east-2']) {
        const link = {
          apiVersion: 'skupper.io/v2alpha1',
          kind: 'Link',
          metadata: { name },
          spec: { endpoints: [], tlsCredentials: 'to-east' },
        };
        await west.write(join(west.layout.internal.links, `Link-${name}.yaml`), JSON.stringify(link));
      }
    };
    await created();
    assert.equal((await west.earshot(['link', 'delete', 'to-east'])).code, 0);
    assert.deepEqual([await files(west), await readdir(west.layout.internal.links)], [[], []]);
    await created();
    assert.equal((await west.earshot(['link', 'delete', 'to-east-1'])).code, 0);
    assert.deepEqual(
      [await files(west), await readdir(west.layout.internal.links)],
      [['AccessToken-to-east.yaml'], ['Link-to-east-2.yaml']],
    );
  });
});

describe('a token that has not become a link', () => {
  const waiting = { status: 'Pending', message: 'no way there', redeemed: false };

  async function withToken(): Promise<Namespace> {
    const west = await running();
    await west.put('AccessToken-to-east.yaml', JSON.stringify(token));
    await west.answer('AccessToken', 'to-east', token.spec, waiting);
    return west;
  }

  it('is shown by status, by link status, and by its name', async () => {
    await using west = await withToken();
    const overview = await west.earshot(['status']);
    assert.match(overview.out, /^AccessTokens\nNAME +URL +REDEEMED +STATUS +MESSAGE\nto-east .* false +Pending +no way there$/m);
    const links = await west.earshot(['link', 'status']);
    assert.match(links.out, /^No Link in the namespace west\.\n\nTokens being redeemed\n.*\nto-east .* no way there\n$/);
    const one = await west.earshot(['link', 'status', 'to-east']);
    assert.match(one.out, /^Kind: +AccessToken$/m);
    for (const { out } of [overview, links]) assert.doesNotMatch(out, /codeofthegrant/);
  });

  it('is no longer shown beside the link that it has become', async () => {
    await using west = await withToken();
    await west.answer('AccessToken', 'to-east', token.spec, { status: 'Ready', redeemed: true });
    await west.answer('Link', 'to-east', { endpoints: [] }, { status: 'Ready' });
    assert.doesNotMatch((await west.earshot(['status'])).out, /AccessTokens/);
    assert.doesNotMatch((await west.earshot(['link', 'status'])).out, /Tokens/);
  });

  for (const words of [
    ['link', 'delete'],
    ['token', 'delete'],
    ['delete', 'token'],
    ['delete', 'AccessToken'],
    ['delete', 'link'],
  ]) {
    it(`is taken away by ${words.join(' ')}`, async () => {
      await using west = await withToken();
      const { code, out } = await west.earshot([...words, 'to-east', '--no-wait']);
      assert.deepEqual([code, out], [0, 'AccessToken "to-east" is deleted.\n']);
      assert.deepEqual(await files(west), []);
    });
  }

  it('takes the link along that it made in its last moment', async () => {
    await using west = await withToken();
    const gone = west.earshot(['link', 'delete', 'to-east']);
    await eventually('the token is gone', async () => (await files(west)).length === 0);
    const link = { apiVersion: 'skupper.io/v2alpha1', kind: 'Link', metadata: { name: 'to-east' }, spec: { endpoints: [] } };
    await west.write(join(west.layout.internal.links, 'Link-to-east.yaml'), JSON.stringify(link));
    await rm(join(west.layout.runtime.resources, 'AccessToken-to-east.yaml'));
    assert.equal((await gone).out, 'AccessToken "to-east" is deleted.\nLink "to-east" is deleted.\n');
    assert.deepEqual(await readdir(west.layout.internal.links), []);
  });
});

describe('tokens that were issued', () => {
  it('are listed, and are out of the way of the overview once they are used up or have expired', async () => {
    await using west = await running();
    const soon = new Date(Date.now() + 60_000).toISOString();
    await west.answer('AccessGrant', 'open', { redemptionsAllowed: 2 }, { status: 'Ready', redemptions: 1, expirationTime: soon });
    await west.answer('AccessGrant', 'used', { redemptionsAllowed: 1 }, { status: 'Ready', redemptions: 1, expirationTime: soon });
    await west.answer('AccessGrant', 'late', {}, { status: 'Ready', expirationTime: '2020-01-01T00:00:00Z' });
    const { out } = await west.earshot(['status']);
    assert.match(out, /^AccessGrants\nNAME.*\nopen .*\n\n2 AccessGrants used up or expired: `earshot -n west token status`$/m);
    const all = await west.earshot(['token', 'status']);
    assert.deepEqual(
      [...all.out.matchAll(/^(open|used|late) /gm)].map(([, name]) => name),
      ['late', 'open', 'used'],
    );
    assert.equal((await west.earshot(['token', 'status', 'nosuch'])).code, 4);
  });
});

describe('delete', () => {
  it('takes a kind as people write it, and several names', async () => {
    await using west = await Namespace.make();
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) await west.earshot(['listener', 'create', name, String(8080 + index)]);
    for (const words of [
      ['listener', 'a'],
      ['Listeners', 'b'],
      ['lnr', 'c', 'd'],
    ]) {
      assert.equal((await west.earshot(['delete', ...words])).code, 0, words.join(' '));
    }
    assert.deepEqual(await files(west), []);
  });

  it('says what is missing, what is no kind, and what is half said', async () => {
    await using west = await Namespace.make();
    for (const words of [['listener', 'web'], ['Listener/web']]) assert.equal((await west.earshot(['delete', ...words])).code, 4);
    assert.match((await west.earshot(['delete', 'listener/web', 'api'])).err, /"api" is not a resource: give KIND\/NAME/);
    assert.equal((await west.earshot(['delete', 'listener', 'web', '--ignore-not-found'])).code, 0);
    assert.match((await west.earshot(['delete', 'pod', 'web'])).err, /The kind "pod" does not exist; kinds are Site, Listener/);
    for (const words of [[], ['listener'], ['listener', 'web', '-f', 'x.yaml']]) {
      const { code, err } = await west.earshot(['delete', ...words]);
      assert.equal(code, 2);
      assert.match(err, /no resource is named: give a kind and names \(listener web or listener\/web\), or files \(-f FILE\)/);
    }
  });
});

describe('site revoke', () => {
  it('puts a site that was given a certificate out, and in again', async () => {
    await using west = await Namespace.make();
    const entry = { siteName: 'east', siteId: '873f7632-3838-8275-8aad-abfcf2526e25', serial: '0A0B', notAfter: 4_102_444_800_000 };
    await west.write(join(west.layout.internal.root, '.keep'), '');
    const ledger = await openLedger(west.layout.internal.root);
    await ledger.record(entry);
    const gone = await west.earshot(['site', 'revoke', 'east']);
    assert.deepEqual([gone.code, gone.out], [0, 'Site "east" is revoked: 1 certificate and 1 site id are refused from now on.\n']);
    assert.deepEqual(
      (await ledger.revoked()).map(({ name, serials }) => [name, serials]),
      [['east', ['0A0B']]],
    );
    await west.earshot(['site', 'create', 'west']);
    const day = new Date().toISOString().slice(0, 10);
    for (const words of [[], ['west']])
      assert.match((await west.earshot(['site', 'status', ...words])).out, new RegExp(`\\n\\nRevoked: east \\(${day}\\)\\n$`));
    assert.equal((await west.earshot(['site', 'unrevoke', 'east'])).code, 0);
    assert.doesNotMatch((await west.earshot(['site', 'status'])).out, /Revoked/);
    assert.deepEqual(await ledger.revoked(), []);
    const unknown = await west.earshot(['site', 'unrevoke', 'east']);
    assert.equal(unknown.code, 4);
    assert.equal((await west.earshot(['site', 'revoke', 'nobody'])).code, 4);
    await appendFile(join(west.layout.internal.root, 'issued.jsonl'), 'rubbish\n');
    await ledger.record({ siteName: 'Certificate/web', serial: '0C', notAfter: 4_102_444_800_000 });
    const misspelt = await west.earshot(['site', 'revoke', 'eats']);
    assert.match(misspelt.err, /known sites are east; did you mean east\?$/m);
    assert.match((await west.earshot(['site', 'revoke', 'wbe'])).err, /known sites are east; did you mean web\?$/m);
    const web = await west.earshot(['site', 'revoke', 'web']);
    assert.equal(web.out, 'Certificate "web" is revoked: 1 certificate and 0 site ids are refused from now on.\n');
    assert.match(web.err, /^Warning: .*issued\.jsonl is damaged in line 2\b/);
  });
});
