import type { Playground } from '../connection/playground.ts';
import type { Tour } from '../tour.ts';

/** What every step with sites works with: the cluster, and a folder of this machine in which it is a site, too. */
export interface SitesTour extends Tour {
  readonly playground: Playground;
  readonly ports: SitesPorts;
  /** The command of the client on this machine. */
  readonly curl: string;
}

export interface SitesPorts {
  /** Where this machine listens for clients of the shop's page. */
  readonly web: number;
  /** Of the Redis on this machine. */
  readonly redis: number;
}

export const SITES_PORTS: SitesPorts = { web: 8080, redis: 6379 };

/** What the pods of the shop answer. */
export const WELCOME = /^Welcome to the shop, says web-[\w-]+\.$/;

/** Waits until a client of this machine gets the page again, or for the first time. @returns the page */
export function untilWelcome({ narrator, playground, curl }: SitesTour, statement: string): Promise<string> {
  return narrator.until(
    statement,
    async () => {
      const { code, output } = await playground.attempt(curl);
      const page = output.trim();
      return { found: code === 0 && WELCOME.test(page) ? page : undefined, seen: page };
    },
    30,
  );
}

/** Waits until the till in the cluster has counted on in the Redis of this machine. @returns its count */
export async function untilSold({ narrator, playground, ports }: SitesTour, statement: string): Promise<number> {
  const count = async (): Promise<number> => Number((await playground.attempt(`redis-cli -p ${ports.redis} get sales`)).output);
  const before = await count();
  return narrator.until(
    statement,
    async () => {
      const now = await count();
      return { found: now > before ? now : undefined, seen: `${now} sales` };
    },
    30,
  );
}
