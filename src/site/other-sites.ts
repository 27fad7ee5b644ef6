import type { Site } from '../api/skupper/index.ts';

/** Another site, as this site's status shows it. */
export interface ShownSite {
  readonly id: string;
  readonly name: string;
}

/** Sites in the network and the incoming links of a Site's status, except those that have its own name. */
export function otherSites({ metadata, status }: Pick<Site, 'metadata' | 'status'>): readonly ShownSite[] {
  const incoming = (status?.incomingLinks ?? []).map(({ siteId, siteName }) => ({ id: siteId, name: siteName }));
  return [...(status?.network ?? []), ...incoming].flatMap(({ id, name }) =>
    id === undefined || name === undefined || name === metadata.name ? [] : [{ id, name }],
  );
}
