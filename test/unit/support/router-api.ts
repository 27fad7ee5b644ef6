import { RouterApi, type RouterApiSources } from '../../../src/agent/api/router-api.ts';

/** Sources of a router without state to report. */
export const quietSources: RouterApiSources = {
  router: 'one',
  version: '1',
  startedAt: '2026-01-01T00:00:00Z',
  site: () => undefined,
  state: () => undefined,
  links: () => [],
  records: () => undefined,
  keyFigures: () => undefined,
  figures: () => undefined,
  changes: () => undefined,
  unready: () => undefined,
  now: Date.now,
};

/** The API of such a router. */
export function quietApi(): RouterApi {
  return new RouterApi(quietSources);
}
