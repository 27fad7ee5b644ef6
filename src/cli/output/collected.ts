import type { ArchiveFile } from './tar.ts';

/** What `debug dump` has of a site. */
export interface Collected {
  /** As they are, but for keys, codes and tokens that are found in resources. */
  readonly texts: readonly ArchiveFile[];
  /** Of these only what is known to be no secret. */
  readonly resources: readonly ParsedResources[];
}

export interface ParsedResources {
  readonly path: string;
  readonly values: readonly unknown[];
}
