/**
 * What each running router refuses by now: a file a router, beside its state. A command that has revoked something waits for it, so
 * that nobody is served any more once it has returned.
 */
import { createHash } from 'node:crypto';
import { readText, writeDurably } from '../../files/durable.ts';
import type { Revocations } from '../../identity/issued.ts';
import { routerFiles, type NamespaceLayout } from './layout.ts';
import { runningRouters } from './routers.ts';

export class ConfirmedRevocations {
  readonly #path: string;
  #confirmed: string | undefined;

  constructor(layout: NamespaceLayout, router: string) {
    this.#path = routerFiles(layout, router).revoked;
  }

  /** The router refuses these now, and nothing that they end is open. */
  async confirm(revoked: Revocations): Promise<void> {
    const digest = digestOf(revoked);
    if (this.#confirmed === digest) return;
    await writeDurably(this.#path, `${digest}\n`, 0o644);
    this.#confirmed = digest;
  }
}

/** Running routers that refuse something else as yet. One that never confirmed anything is of a version that does not. */
export async function routersBehind(layout: NamespaceLayout, revoked: Revocations): Promise<readonly string[]> {
  const wanted = digestOf(revoked);
  const routers = (await runningRouters(layout)).map(({ router }) => router);
  const confirmed = await Promise.all(routers.map((router) => readText(routerFiles(layout, router).revoked, { bytes: 1_024 })));
  return routers.filter((_, index) => confirmed[index] !== undefined && confirmed[index]?.trim() !== wanted);
}

const digestOf = ({ sites, serials }: Revocations): string =>
  createHash('sha256')
    .update(JSON.stringify([[...sites].sort(), [...serials].sort()]))
    .digest('hex');
