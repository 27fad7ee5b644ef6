import manifest from '../package.json' with { type: 'json' };

/** Version of the program. */
export const VERSION: string = manifest.version;

/** Annotation of resource definitions: version of the controller that applied them. */
export const VERSION_ANNOTATION = 'earshot/version';

export interface Build {
  /** 40 hexadecimal digits, and `-modified` if the checkout had changes. */
  readonly commit: string;
  /** Date of the commit, RFC 3339. */
  readonly date: string;
}

/** Replaced by the bundler (scripts/bundle.ts). */
declare const EARSHOT_BUILD: Build;

/** Commit of a release; undefined if the program runs from a checkout. */
export const BUILD: Build | undefined = typeof EARSHOT_BUILD === 'undefined' ? undefined : EARSHOT_BUILD;
