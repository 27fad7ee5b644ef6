/**
 * Revocations that each running router has applied: one file for each router, next to its state. A command that revokes something waits for
 * it, so that no revoked connection is served once the command has returned.
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

  /** Called once the router refuses these and has closed their connections. */
  async confirm(revoked: Revocations): Promise<void> {
    const digest = digestOf(revoked);
    if (this.#confirmed === digest) return;
    await writeDurably(this.#path, `${digest}\n`, 0o644);
    this.#confirmed = digest;
  }
}

/** Running routers that have applied other revocations. A router that never confirmed any has a version without confirmations. */
export async function routersBehind(layout: NamespaceLayout, revoked: Revocations): Promise<readonly string[]> {
  const desired = digestOf(revoked);
  const routers = (await runningRouters(layout)).map(({ router }) => router);
  const confirmed = await Promise.all(routers.map((router) => readText(routerFiles(layout, router).revoked, { bytes: 1_024 })));
  return routers.filter((_, index) => confirmed[index] !== undefined && confirmed[index]?.trim() !== desired);
}

const digestOf = ({ sites, serials }: Revocations): string =>
  createHash('sha256')
    .update(JSON.stringify([[...sites].sort(), [...serials].sort()]))
    .digest('hex');
