import type { NamespaceView } from '../namespace-view.ts';
import { noWishes, type Wishes } from '../wishes.ts';

/** What the site is told of connectors that other namespaces attach to it. */
export function attachedObjects(_view: NamespaceView): Wishes {
  return noWishes;
}
