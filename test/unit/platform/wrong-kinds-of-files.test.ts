/** Each file and directory of a namespace × something else in its place: one clear message, and the rest works on. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { pino } from 'pino';
import { parse } from 'yaml';
import { layoutOf, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { makeNamespace, startSite } from '../../../src/platform/linux/site.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { eventually } from '../../harness/wait.ts';
import { FakeRouter } from '../agent/support/fake-router.ts';
import { freePort } from '../support/free-port.ts';
import { makeAuthority } from '../trust/support/site.ts';
import { aDirectory } from './support.ts';

type Intruder = 'a directory' | 'a file' | 'a link to nothing' | 'a link to itself' | 'a socket';

const put: Readonly<Record<Intruder, (path: string) => Promise<unknown>>> = {
  'a directory': (path) => mkdir(path),
  'a file': (path) => writeFile(path, 'x'),
  'a link to nothing': (path) => symlink('/nonexistent/x', path),
  'a link to itself': (path) => symlink(path, path),
  'a socket': (path) => once(createServer().unref().listen(path), 'listening'),
};

const ofFile: readonly Intruder[] = ['a directory', 'a link to nothing', 'a link to itself', 'a socket'];
const ofDirectory: readonly Intruder[] = ['a file', 'a link to nothing', 'a link to itself'];

/**
 * `site`: nothing runs without it, and each status says so. `part`: the other resources work on.
 * `renewed` lists those in whose place the site writes a new file, so that there is nothing to say.
 */
const places: readonly (readonly [path: string, needed: 'site' | 'part', intruders: readonly Intruder[], renewed?: readonly Intruder[]])[] =
  [
    ['input/resources', 'site', ['a file', 'a link to itself']],
    ['input/resources/Site-west.yaml', 'site', ofFile],
    ['input/resources/Listener-tls.yaml', 'part', ofFile],
    ['input/certs', 'part', ofDirectory],
    ['input/certs/user', 'part', ofDirectory],
    ['input/certs/user/tls.crt', 'part', ofFile],
    ['input/certs/user/tls.key', 'part', ofFile],
    ['internal', 'site', ofDirectory],
    ['internal/anchor.json', 'site', ofFile, ['a link to nothing']],
    ['internal/issued.jsonl', 'part', ofFile],
    ['internal/redeemed.json', 'site', ofFile, ['a link to nothing']],
    ['internal/certs', 'part', ofDirectory],
    ['internal/certs/app', 'part', ofDirectory],
    // The current generation of the bundle has the file.
    ['internal/certs/app/tls.key', 'part', ofFile, ofFile],
    ['internal/grants', 'part', ofDirectory],
    ['internal/grants/grant.json', 'part', ofFile],
    ['internal/site/ca', 'part', ofDirectory],
    ['internal/site/identity.key', 'site', ofFile],
    ['runtime/resources', 'site', ofDirectory],
    ['runtime/problems.yaml', 'part', ['a directory']],
  ];

interface Seen {
  /** By resource, with each message that it has had. */
  readonly statuses: ReadonlyMap<string, readonly string[]>;
  readonly log: readonly string[];
}

/** A problem of a file has its path in a field of its own. */
const lineOf = ({ file, message }: { readonly file?: string; readonly message: string }): string =>
  file === undefined ? message : `${file}: ${message}`;

async function statusesOf({ runtime }: NamespaceLayout): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(runtime.resources).catch(() => []);
  const all = names.map(async (name) => {
    const text = await readFile(join(runtime.resources, name), 'utf8').catch(() => '');
    const { status } = (parse(text) ?? {}) as { readonly status?: { readonly status?: string; readonly message?: string } };
    return [name, `${status?.status}: ${status?.message}`] as const;
  });
  return new Map(await Promise.all(all));
}

/** Runs the site until the condition holds, and two syncs longer. */
async function run(layout: NamespaceLayout, what: string, holds: (seen: Seen) => boolean): Promise<Seen> {
  const log: string[] = [];
  const statuses = new Map<string, string[]>();
  const logger = pino({ level: 'warn', messageKey: 'message' }, { write: (line) => void log.push(lineOf(JSON.parse(line))) });
  const router = new FakeRouter();
  await using site = await startSite({ layout, router: 'router', version: '1', log: logger, start: router.start });
  const look = async (): Promise<Seen> => {
    site.reload();
    for (const [name, status] of await statusesOf(layout)) {
      const before = statuses.getOrInsertComputed(name, () => []);
      if (before.at(-1) !== status) before.push(status);
    }
    return { statuses, log };
  };
  await eventually(what, async () => holds(await look()));
  for (let more = 0; more < 5; more += 1) await look();
  return { statuses, log };
}

const isReady = ({ statuses }: Seen, name: string): boolean => statuses.get(name)?.at(-1)?.startsWith('Ready') === true;

/** A namespace in which everything has come up once. */
async function prepare(layout: NamespaceLayout): Promise<NamespaceLayout> {
  await makeNamespace(layout);
  const resources: Readonly<Record<string, object>> = {
    'Site-west': { linkAccess: 'default', settings: { 'grant-port': `${await freePort()}` } },
    'Listener-control': { routingKey: 'control', host: '127.0.0.1', port: await freePort() },
    'Listener-tls': { routingKey: 'tls', host: '127.0.0.1', port: await freePort(), tlsCredentials: 'user' },
    'Certificate-app': { ca: 'earshot-site-ca', server: true, subject: 'app', hosts: ['app'] },
    'AccessGrant-grant': { code: 'a-long-code-of-my-own' },
  };
  for (const [file, spec] of Object.entries(resources)) {
    const [kind, name] = file.split('-');
    const text = JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec });
    await writeFile(join(layout.input.resources, `${file}.yaml`), text);
  }
  const { cert, key } = issueBundle(makeAuthority(), 'user', { subject: 'user', hosts: ['localhost'], server: true });
  const user = join(layout.input.certs, 'user');
  await mkdir(user, { recursive: true });
  await writeFile(join(user, 'tls.crt'), cert);
  await writeFile(join(user, 'tls.key'), key ?? '');
  await run(layout, 'all is ready', (seen) => isReady(seen, 'Certificate-app.yaml') && isReady(seen, 'AccessGrant-grant.yaml'));
  await rm(layout.runtime.resources, { recursive: true });
  await mkdir(layout.runtime.resources);
  return layout;
}

/** Words of the system alone, text that changes with each attempt, and a repeated clause about a path. */
function faultOf(text: string): string | undefined {
  const [raw] = /illegal operation|no such (?:file|device)|not a directory,|too many symbolic links|\.\.[0-9a-f]{16}/.exec(text) ?? [];
  if (raw !== undefined) return raw;
  const clauses = text.split(/: |; |\. /).filter((clause) => clause.length > 20 && clause.includes('/'));
  return clauses.find((clause, index) => clauses.indexOf(clause) !== index);
}

describe('in a namespace', () => {
  let prepared: Promise<NamespaceLayout> | undefined;
  const home = mkdtempSync(join(tmpdir(), 'earshot-kinds-'));
  after(() => rmSync(home, { recursive: true, force: true }));
  for (const [path, needed, intruders, renewed = []] of places)
    for (const intruder of intruders)
      test(`${intruder} in place of ${path} is named, and ${needed === 'part' ? 'the rest works on' : 'each status says so'}`, async (t) => {
        const before = await (prepared ??= prepare(layoutOf('west', home)));
        const layout = layoutOf('west', await aDirectory(t));
        await cp(before.root, layout.root, { recursive: true, verbatimSymlinks: true });
        const place = join(layout.root, path);
        await rm(place, { recursive: true, force: true });
        await put[intruder](place);
        const says = (text: string): boolean =>
          text.includes(path) ||
          (needed === 'part' && (text.includes(dirname(path)) || text.includes(`bundle ${basename(dirname(path))} lacks`)));
        const texts = ({ statuses, log }: Seen): readonly string[] => [...[...statuses.values()].flat(), ...log];
        const control = 'Listener-control.yaml';
        const seen = await run(layout, `${path} is named`, (now) => {
          if (needed === 'part' && !path.startsWith('runtime') && !now.statuses.has(control)) return false;
          return renewed.includes(intruder) ? isReady(now, 'Site-west.yaml') : texts(now).some(says);
        });
        for (const text of texts(seen)) assert.equal(faultOf(text), undefined, text);
        if (needed === 'part') assert.match(seen.statuses.get(control)?.at(-1) ?? '', /^Pending: no connector/);
      });
});
