/** A linked site that announces a network as large and dense as others hold, and another one a moment later; over several links, alternately. */
import { setTimeout } from 'node:timers/promises';
import { siteIdOf } from '../../../src/identity/site-id.ts';
import { generateSiteKey, type SiteKey } from '../../../src/identity/site-key.ts';
import type { Links } from '../../../src/router/link/links.ts';
import { startRouter } from '../../../src/router/router.ts';
import { writeRecords } from '../../../src/routing/codec.ts';
import { writeAbout, writeKey, writeNeighbour, writeRecord } from '../../../src/routing/record.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import type { Fight } from './fight.ts';

/** Number of announced routers, each of a site of its own, and what each lists. */
const [ROUTERS, NEIGHBOURS, KEYS] = [4_000, 60, 20];
/** Records between two pauses: about as many in a second as are taken from one link. */
const AT_ONCE = 10;
const LINKS = 4;

const ROUTER = 'main';
const idOf = ({ publicKey }: SiteKey): string => `${siteIdOf(publicKey)}/${ROUTER}`;
const ABOUT = writeAbout({ name: 'map', namespace: 'x', platform: 'linux', version: '1', edge: false });

/** Goes on until the time is up or the link is. A case is a record. */
export async function maps(fight: Fight): Promise<void> {
  const { key } = generateSiteKey();
  const { host, port, keys, random } = fight;
  const tls = { name: 'map', cert: keys.cert, key: keys.key, ca: keys.ca };
  const router = await startRouter(
    {
      site: { id: siteIdOf(key.publicKey), name: 'map', namespace: 'x', platform: 'linux', version: '1' },
      siteKey: key,
      router: ROUTER,
      edge: false,
      listeners: [],
      connectors: [],
      links: Array.from({ length: LINKS }, (_, number) => ({ name: `victim-${number}`, endpoints: [{ host, port }], cost: 1, tls })),
      accesses: [],
      revoked: { sites: [], serials: [] },
    },
    {},
    { log: createLogger({ level: 'silent', component: 'map' }) },
  );
  // The test alone accesses a router's internals.
  const { links } = router as unknown as { readonly links: Links };
  const invented = Array.from({ length: ROUTERS }, () => generateSiteKey().key);
  const names = invented.map(idOf);
  const bearer = idOf(key);
  const epoch = Date.now() + 1;
  for (let counter = 1; fight.more(); counter += 1) {
    const up = [...links.all].filter(({ state }) => state === 'up');
    const link = up[counter % up.length];
    if (link === undefined) {
      fight.tell('no link');
      await setTimeout(100);
      continue;
    }
    // All of them in sequence, then random ones.
    const at = counter <= ROUTERS ? counter - 1 : random.below(ROUTERS);
    const near = Array.from({ length: NEIGHBOURS }, (_, number) => names[(at + number + 1 + ROUTERS - NEIGHBOURS / 2) % ROUTERS] ?? bearer);
    const fields = [
      ABOUT,
      ...[bearer, ...near].map((other) => writeNeighbour({ router: other, cost: 1 + random.below(9), link: '' })),
      ...Array.from({ length: KEYS }, (_, number) => writeKey({ routingKey: `key-${at}-${number}`, connectors: 1, listeners: 1 })),
    ];
    const own = invented[at] ?? key;
    const bytes = [writeRecord({ router: ROUTER, epoch, counter, part: 0 }, fields, own)];
    // It is itself next to some of them, and to the peer of its link.
    if (counter % 100 === 1) {
      const next = [link.router, ...Array.from({ length: NEIGHBOURS }, () => random.pick(names))];
      const listed = next.map((other) => writeNeighbour({ router: other, cost: 1, link: link.id }));
      bytes.push(writeRecord({ router: ROUTER, epoch, counter, part: 0 }, [ABOUT, ...listed], key));
    }
    for (const message of writeRecords(
      bytes.map((each) => ({ age: 0, bytes: each })),
      60_000,
    ))
      link.routing.send(message);
    fight.tell('announced');
    if (counter % AT_ONCE === 0) await setTimeout(10);
  }
  await router.drain(0);
}
