/**
 * The files of the page. A checkout builds them when they are needed. The bundler (scripts/bundle.ts) replaces this module by one that
 * contains them.
 */
import type { PageAsset } from './assets.ts';

export async function loadPage(): Promise<readonly PageAsset[]> {
  const builder = new URL('../../scripts/page.ts', import.meta.url).href;
  // Only a checkout has this file, and it exports this function.
  const { buildPage } = (await import(builder)) as { readonly buildPage: () => Promise<readonly PageAsset[]> };
  return buildPage();
}
