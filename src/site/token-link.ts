import type { Link } from '../api/skupper/index.ts';

/** Annotation of a Link that was created from a token: the ID of the site that issued the token. */
export const SITE_ID = 'earshot/site-id';

/** Whether the Link was created from a token: its certificate cannot be written by hand. */
export function isTokenLink({ metadata }: Link): boolean {
  return metadata.annotations?.[SITE_ID] !== undefined;
}
