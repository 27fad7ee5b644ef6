/** PEM texts as they lie in a directory or a Secret. Two bundles with equal texts are the same: a change of a text is a reload. */
export interface TlsBundle {
  /** The name by which resources refer to it, for messages. */
  readonly name: string;
  /** The certificate with its intermediates (`tls.crt`). */
  readonly cert?: string;
  /** `tls.key`. */
  readonly key?: string;
  /** `ca.crt`. */
  readonly ca?: string;
  /** What is said beside it: see `LinkConfig.priorRevisions`. It is none of its texts. */
  readonly priorRevisions?: number;
}

/** A bundle with nothing missing, as Earshot issues it. */
export type IssuedBundle = Required<Omit<TlsBundle, 'priorRevisions'>>;

/** Whether two bundles are one, also where there is none on both sides. */
export function sameBundle(a: TlsBundle | undefined, b: TlsBundle | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.name === b.name && a.cert === b.cert && a.key === b.key && a.ca === b.ca);
}
