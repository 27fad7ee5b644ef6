/** Sources of facts that ask the routers of a site, on any platform. */
import type { ProbedTarget } from '../connection/site-facts.ts';
import type { AskableRouters } from '../../platform/resources.ts';
import type { SiteSources } from './gather-site.ts';

export function routerSources(routers: AskableRouters): Required<Pick<SiteSources, 'askRouters' | 'probe'>> {
  return { askRouters: (path, signal) => askAll(routers, path, signal), probe: (target, signal) => probeAny(routers, target, signal) };
}

/** @throws Error if no router runs */
async function namesOf(routers: AskableRouters): Promise<readonly [string, ...string[]]> {
  const [first, ...others] = await routers.names();
  if (first === undefined) throw new Error('no router runs');
  return [first, ...others];
}

/** Answers of all routers of the site. One that does not answer in time is left out. @throws Error if none answers */
async function askAll(routers: AskableRouters, path: string, signal: AbortSignal): Promise<readonly unknown[]> {
  const early = AbortSignal.any([signal, AbortSignal.timeout(ROUTER_DEADLINE)]);
  const asked = await Promise.allSettled((await namesOf(routers)).map(async (router) => routers.ask(router, path, 'GET', early)));
  const answers = asked.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  const failed = asked.find((answer) => answer.status === 'rejected');
  if (answers.length === 0 && failed !== undefined) throw failed.reason;
  return answers;
}

/** The first answer. A connector of a container network is known to the router of that network only. @throws Error if none answers */
async function probeAny(routers: AskableRouters, target: ProbedTarget, signal: AbortSignal): Promise<unknown> {
  const names = await namesOf(routers);
  if ('key' in target) return routers.ask(names[0], `/v1/probe?key=${encodeURIComponent(target.key)}`, 'POST', signal);
  let last: unknown;
  for (const router of names) {
    try {
      return await routers.ask(router, `/v1/probe?connector=${encodeURIComponent(target.connector)}`, 'POST', signal);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

/** Milliseconds. Shorter than the deadline of the source, which then still has the answers of the other routers. */
const ROUTER_DEADLINE = 1_500;
