import type { NamespaceView } from '../namespace-view.ts';
import { noWishes, type Wishes } from '../wishes.ts';

/** What the site itself needs in its namespace: routers, their accounts and rights, configuration, authorities. */
export function siteObjects(_view: NamespaceView): Wishes {
  return noWishes;
}
