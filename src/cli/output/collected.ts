import type { ArchiveFile } from './tar.ts';

/** The files that `debug dump` collects from a site. */
export interface Collected {
  /** Texts archived as they are, except that keys, codes and tokens found in resources are removed. */
  readonly texts: readonly ArchiveFile[];
  /** Resources. Only fields known not to be secret are archived. */
  readonly resources: readonly ParsedResources[];
}

export interface ParsedResources {
  readonly path: string;
  readonly values: readonly unknown[];
}
