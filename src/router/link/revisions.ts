import { sameBundle, type TlsBundle } from '../../identity/tls-bundle.ts';
import { LinkError } from './link-errors.ts';

/** Numbers the successive bundles of a link or a port; the current one has the highest number. */
export class Revisions {
  #bundle: TlsBundle | undefined;
  #now = 0;

  constructor(bundle?: TlsBundle) {
    this.#bundle = bundle;
  }

  get now(): number {
    return this.#now;
  }

  apply(bundle: TlsBundle | undefined): void {
    if (!sameBundle(bundle, this.#bundle)) this.#now += 1;
    this.#bundle = bundle;
  }

  /** Why a connection of that revision has to end; undefined if it may continue. */
  endOf(revision: number, prior: number | undefined): LinkError | undefined {
    if (prior === undefined || revision >= this.#now - prior) return undefined;
    const kept = prior === 0 ? 'connections with earlier certificates end' : `only connections with the last ${prior} before it continue`;
    return new LinkError('closed', `The certificate has been replaced since this connection was opened, and ${kept}.`);
  }
}
