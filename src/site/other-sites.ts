import type { Site } from '../api/skupper/index.ts';

/** Another site by what the status of this one shows. */
export interface ShownSite {
  readonly id: string;
  readonly name: string;
}

/** The sites that the status of one shows, in the network and as incoming links, without those that are called as it is itself. */
export function otherSites({ metadata, status }: Pick<Site, 'metadata' | 'status'>): readonly ShownSite[] {
  const incoming = (status?.incomingLinks ?? []).map(({ siteId, siteName }) => ({ id: siteId, name: siteName }));
  return [...(status?.network ?? []), ...incoming].flatMap(({ id, name }) =>
    id === undefined || name === undefined || name === metadata.name ? [] : [{ id, name }],
  );
}
