import type { NamespaceView } from '../namespace-view.ts';
import { noWishes, type Wishes } from '../wishes.ts';

/** What lets other sites reach this one: RouterAccess and SecuredAccess, and what each type of access is made of. */
export function accessObjects(_view: NamespaceView): Wishes {
  return noWishes;
}
