/** A file of the page. */
export interface PageAsset {
  /** Path below the console: `index.html`, `assets/main-HASH.js`. */
  readonly path: string;
  readonly type: string;
  /** Content, compressed by gzip. */
  readonly gzip: Buffer;
}
