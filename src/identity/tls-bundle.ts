/** PEM texts from a directory or a Secret. Bundles with equal texts are equal: only a changed text is a reload. */
export interface TlsBundle {
  /** Name by which resources refer to the bundle, for messages. */
  readonly name: string;
  /** Certificate with its intermediates (`tls.crt`). */
  readonly cert?: string;
  /** `tls.key`. */
  readonly key?: string;
  /** `ca.crt`. */
  readonly ca?: string;
  /** See `LinkConfig.priorRevisions`. Not part of the texts. */
  readonly priorRevisions?: number;
}

/** Complete bundle, as Earshot issues it. */
export type IssuedBundle = Required<Omit<TlsBundle, 'priorRevisions'>>;

/** Whether two bundles are equal, or both undefined. */
export function sameBundle(a: TlsBundle | undefined, b: TlsBundle | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.name === b.name && a.cert === b.cert && a.key === b.key && a.ca === b.ca);
}
