/** A router that may use 256 MiB, and a site that takes all that it gets, while another site's clients go on. */
import assert from 'node:assert/strict';
import { constants } from 'node:fs';
import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { authorityOf } from '../../src/trust/authority.ts';
import { issueBundle } from '../../src/trust/issue.ts';
import {
  connector,
  createNetwork,
  eventually,
  failuresOf,
  linkByToken,
  listener,
  placeLinkFiles,
  startNginx,
  startRequests,
  startSite,
  type Host,
  type Site,
  type SiteOptions,
} from './harness/index.ts';

const GREEDY = fileURLToPath(new URL('hostile/greedy.ts', import.meta.url));
const GREEDY_SITE = 'a0000000-0000-8000-8000-000000000001';
const MIB = 1_048_576;
const LIMIT = 256;
const CERTIFICATES = 48;
/** Milliseconds that the attack goes on at least, and at most until it is refused: on a slow machine, a quota is used up late. */
const [LONG, LONGEST] = [10_000, 120_000];
const CGROUPS = '/sys/fs/cgroup/memory';

const isWritable = await access(`${CGROUPS}/memory.limit_in_bytes`, constants.W_OK).then(
  () => true,
  () => false,
);

test('a site with as many certificates as it likes keeps within its share of --memory 256Mi', async (t) => {
  await greed(t, { args: ['--memory', `${LIMIT}Mi`] });
});

test('and within that of a control group', { skip: isWritable ? false : 'control groups of version 1 cannot be made here' }, async (t) => {
  const group = `${CGROUPS}/earshot-${process.pid}`;
  await mkdir(group);
  t.after(() => eventually('the group to be empty', () => rmdir(group).then(() => true)));
  await writeFile(`${group}/memory.limit_in_bytes`, String(LIMIT * MIB));
  // In a network namespace the system's groups are not to be seen, where a process looks for its limit. Beyond it, the kernel would end it.
  const mounted = `mount -t tmpfs groups /sys/fs/cgroup && mkdir ${CGROUPS} && mount -t cgroup -o memory memory ${CGROUPS}`;
  await greed(t, { under: ['sh', '-c', `${mounted} && echo $$ > ${group}/cgroup.procs && exec "$@"`, 'sh'] });
});

async function greed(t: TestContext, limited: SiteOptions): Promise<void> {
  await using net = await createNetwork({ hosts: ['west', 'east', 'strange'], test: t });
  const [client, server, strange] = [net.host('west'), net.host('east'), net.host('strange')];
  const services = { web: 80, endless: 7001, stuck: 7002 };
  const all = Object.entries(services);
  const east = await startSite(server, {
    access: true,
    resources: all.map(([key, port]) => connector(key, '127.0.0.1', port)),
    ...limited,
  });
  const west = await startSite(client, { resources: [listener('web', '127.0.0.1', services.web)] });
  await startNginx(server, { port: services.web });
  const page = 'const page = Buffer.alloc(65536); ';
  await startNode(server, services.endless, `${page} const go = () => { while (socket.write(page)); }; socket.on('drain', go); go();`);
  await startNode(server, services.stuck, 'socket.pause();');
  await linkByToken(west, east);
  await west.waitFor('Listener', 'web');
  const { certificates, port } = await manyCertificates(east, strange);

  await using requests = await startRequests(client, 'http://127.0.0.1:80/', { perSecond: 50 });
  await requests.next(5);
  await using attack = await strange.spawn([process.execPath, GREEDY, 'east', port, certificates, String(CERTIFICATES)], {
    name: 'greedy',
  });
  const began = performance.now();
  let most = 0;
  let share = 0;
  await eventually(
    'the router to refuse the greedy site',
    async () => {
      most = Math.max(most, east.process.memory());
      share = Math.max(share, await east.metric('earshot_router_memory_held_bytes', { by: 'greediest' }));
      return performance.now() - began >= LONG && (await east.metric('earshot_router_memory_refused_total')) > 0;
    },
    { timeoutMs: LONGEST },
  );
  await attack.stop();
  const budget = await east.metric('earshot_router_memory_budget_bytes');
  t.diagnostic(
    `${attack.output.trim()}; ${most.toFixed(0)} MB at most, share ${(share / MIB).toFixed(0)} of ${(budget / MIB).toFixed(0)} MiB`,
  );
  await requests.next(5);
  assert.deepEqual(failuresOf(requests.results), [], 'others are unharmed');
  assert.ok(most * 1e6 < LIMIT * MIB, `${most} MB`);
  assert.match(east.process.output, new RegExp(`refused: site ${GREEDY_SITE} has used up its memory quota`));
  assert.equal(await west.metric('earshot_router_links'), 1);
}

async function startNode(host: Host, port: number, onSocket: string): Promise<void> {
  const text = `require('net').createServer({ allowHalfOpen: true }, (socket) => { socket.on('error', () => {}); ${onSocket} }).listen(${port}, '127.0.0.1')`;
  const program = await host.spawn([process.execPath, '-e', text], { name: `server-${port}` });
  await program.ready(() => host.listens(port));
}

/** All of one site: with those that it has, a site gets further ones. */
async function manyCertificates(east: Site, strange: Host): Promise<{ readonly certificates: string; readonly port: string }> {
  const { certificates, port } = await placeLinkFiles(east, east.host.v4, strange);
  const [cert, key] = await Promise.all(['tls.crt', 'tls.key'].map((file) => readFile(`${east.layout.internal.site}/ca/${file}`, 'utf8')));
  const authority = authorityOf({ name: 'ca', cert: cert ?? '', key: key ?? '' }, 'ca', Date.now);
  for (let at = 0; at < CERTIFICATES; at += 1) {
    const bundle = issueBundle(authority, `${at}`, { subject: `greedy ${at}`, siteId: GREEDY_SITE, client: true, purpose: 'link' });
    await writeFile(`${certificates}/${at}.crt`, bundle.cert);
    await writeFile(`${certificates}/${at}.key`, bundle.key);
  }
  return { certificates, port };
}
