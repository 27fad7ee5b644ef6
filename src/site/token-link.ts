import type { Link } from '../api/skupper/index.ts';

/** Annotation of a Link that a token became: the ID of the site that issued the token. */
export const SITE_ID = 'earshot/site-id';

/** Whether a token became this Link: its certificate cannot be written by hand. */
export function isTokenLink({ metadata }: Link): boolean {
  return metadata.annotations?.[SITE_ID] !== undefined;
}
