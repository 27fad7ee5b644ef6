/** A router's API in a large network, as a console reads it: sites, routing keys with traffic, and figures of other sites. */
import { createServer, type Server } from 'node:http';

export interface NetworkSize {
  readonly sites: number;
  readonly keys: number;
  /** Connections of all keys in a minute. One key in ten has nine of ten. */
  readonly connections: number;
}

const idOf = (site: number): string => `00000000-0000-4000-8000-${String(site).padStart(12, '0')}`;
const keyOf = (key: number): string => `team-${key % 97}/service-${key}`;

/** @returns the server of the API, which is not listening yet */
export function createLargeNetwork(size: NetworkSize): Server {
  const begun = Date.now();
  const fixed = new Map([
    ['/v1/self', { router: 'router', version: '1', ready: true }],
    ['/v1/network', { version: 'n', items: Array.from({ length: size.sites }, (_, site) => siteOf(site, size)) }],
    ['/v1/keys', { version: 'k', items: Array.from({ length: size.keys }, (_, key) => entryOf(key, size)) }],
    ['/v1/changes', { version: 'c', items: [] }],
  ]);
  return createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://router');
    const seconds = (Date.now() - begun) / 1_000;
    const known = fixed.get(pathname);
    if (pathname === '/v1/figures') return void response.end(JSON.stringify(keyFiguresOf(size, seconds)));
    if (pathname === '/v1/links') return void response.end(JSON.stringify(linksOf(size, seconds)));
    if (pathname === '/v1/observe') return void response.end(JSON.stringify(figuresOf(searchParams.get('site') ?? '', size, seconds)));
    if (known === undefined) return void response.writeHead(404).end('{}');
    const isKnown = 'version' in known && searchParams.get('since') === known.version;
    response.end(JSON.stringify(isKnown ? { version: known.version, unchanged: true } : known));
  });
}

/** One site in twenty is linked to this one, the others to one of those. */
const hubOf = (site: number): number => (site % 20 === 0 ? 0 : site - (site % 20));

function neighboursOf(site: number, { sites }: NetworkSize): readonly number[] {
  const below = Array.from({ length: sites }, (_, other) => other).filter((other) => other !== site && hubOf(other) === site);
  return site === 0 ? below : [hubOf(site), ...below];
}

function siteOf(site: number, size: NetworkSize): object {
  const links = neighboursOf(site, size).map((other) => ({ siteId: idOf(other), siteName: `site-${other}`, cost: 1 }));
  const edge = site % 20 !== 0;
  return {
    id: idOf(site),
    name: `site-${site}`,
    namespace: 'prod',
    platform: 'kubernetes',
    version: '1',
    edge,
    routers: ['router'],
    links,
  };
}

function entryOf(key: number, { sites }: NetworkSize): object {
  const at = (step: number): object => ({ site: idOf((key * step + 1) % sites), count: 1 });
  return { key: keyOf(key), listeners: [{ site: idOf(0), count: 1 }, at(7)], connectors: [at(13), at(31)], reachable: true };
}

/** Connections of a key since the start. */
function openedOf(key: number, { keys, connections }: NetworkSize, seconds: number): number {
  const perSecond = key % 10 === 0 ? (connections * 0.9) / (keys / 10) / 60 : (connections * 0.1) / (keys * 0.9) / 60;
  return Math.floor(seconds * perSecond + (key % 7) / 7);
}

function keyFiguresOf(size: NetworkSize, seconds: number): object {
  return {
    certificates: [{ bundle: 'skupper-site-server', days: 30 }],
    items: Array.from({ length: size.keys }, (_, key) => {
      const opened = openedOf(key, size, seconds);
      const half = opened >> 1;
      return {
        key: keyOf(key),
        role: 'listener',
        open: key % 3,
        opened,
        ...(key % 100 === 0 ? { failed: { 'tls-host-mismatch': opened } } : {}),
        bytes: { up: opened * 700, down: opened * 9_000 },
        ...(opened === 0
          ? {}
          : {
              connect: [
                [2 + (key % 5), half],
                [4 + (key % 5), opened - half],
              ],
            }),
      };
    }),
  };
}

function linksOf(size: NetworkSize, seconds: number): object {
  const incoming = neighboursOf(0, size).map((site) => {
    const figures = { since: 1, roundTrip: 3, bytes: { sent: Math.floor(seconds * 1_000 * site), received: 1 }, streams: site, queued: 0 };
    return { siteId: idOf(site), siteName: `site-${site}`, address: `192.0.2.1:${site}`, cost: 1, since: 1, figures };
  });
  return { items: [], incoming };
}

function figuresOf(id: string, size: NetworkSize, seconds: number): object {
  const site = Number(id.slice(-12));
  const links = neighboursOf(site, size).map((other) => ({ site: idOf(other), state: 'up', cost: 1, roundTrip: 3 }));
  const opened = Math.floor(seconds * 10);
  const figures = {
    version: '1',
    uptime: seconds * 1_000,
    open: 5,
    opened,
    failed: 0,
    up: opened * 700,
    down: opened * 9_000,
    eventLoopDelay: 2,
    links,
  };
  return { routers: [{ router: `${id}/router`, figures }] };
}
