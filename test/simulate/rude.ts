import type { Router } from '../../src/router/contract.ts';
import { inside } from './inside.ts';
import type { Site } from './site.ts';
import type { World } from './world.ts';

/** Milliseconds between two polls of the peers that it keeps busy. */
const LOOK = 250;
/** Connections that one machine may have to another at once: two for each of two links, two of an attempt, and some that are closing. */
const MOST_CONNECTIONS = 12;

/**
 * Its router takes every link, ends its routing stream in the moment in which the second connection comes, and holds on to the connections. An honest one
 * follows it.
 */
export function beRude(world: World, site: Site, router: Router, lasts: number): void {
  const own = inside(router);
  const { loop } = world;
  const { links } = own;
  const add = links.add.bind(links);
  links.add = (link) => {
    add(link);
    if (!link.dialed) Object.assign(link, { retire() {} });
  };
  const isRevoked = own.isRevoked.bind(own);
  own.isRevoked = (party) => {
    for (const link of links.all) if (!link.dialed && link.state === 'joining') link.routing.end();
    return isRevoked(party);
  };
  for (const endpoint of site.machine.endpoints) if (!endpoint.isLoopback) world.sever(endpoint);
  const end = loop.now + lasts;
  const look = (): void => {
    for (const { machine } of world.sites) {
      const open = [...site.machine.endpoints].filter(({ isLoopback, peer }) => !isLoopback && peer.machine === machine).length;
      if (machine !== site.machine && open > MOST_CONNECTIONS)
        world.faults.push(`${machine.name} has ${open} connections to ${site.machine.name}, which ends each link at once`);
    }
    if (loop.now + LOOK < end) loop.after(LOOK, undefined, look);
  };
  look();
  loop.after(lasts, undefined, () => {
    if (site.router === router) world.restart(site);
  });
}
