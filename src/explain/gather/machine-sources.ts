/** Sources of facts about a site on this machine: its directories, and the router API. */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { namesIn, readText } from '../../files/durable.ts';
import type { NamespaceLayout } from '../../platform/linux/layout.ts';
import { askRouter } from '../../platform/linux/router-api.ts';
import { pidHere } from '../../platform/linux/running-process.ts';
import { leadingRouters } from '../../platform/linux/routers.ts';
import type { Resources } from '../../platform/resources.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';
import { readCertificates } from '../../x509/facts.ts';
import type { BundleFacts, OpenFiles } from '../connection/site-facts.ts';
import type { SiteSources } from './gather-site.ts';
import { routerSources } from './router-sources.ts';

export function machineSources(layout: NamespaceLayout, resources: Resources): SiteSources {
  return {
    resources,
    ...routerSources({
      names: async () => (await leadingRouters(layout)).map(({ router }) => router),
      ask: (router, path, method, signal) => askRouter(layout, router, path, method, signal),
    }),
    bundles: () => readBundles(layout),
    openFiles: () => countOpenFiles(layout),
  };
}

/** Routers in another PID namespace, or of another user, are left out. */
async function countOpenFiles(layout: NamespaceLayout): Promise<readonly OpenFiles[]> {
  const counted = (await leadingRouters(layout)).map(async (running): Promise<readonly OpenFiles[]> => {
    const pid = pidHere(running);
    const most = pid === undefined ? undefined : openFilesLimit(`/proc/${pid}/limits`);
    if (most === undefined || most === Infinity) return [];
    const files = await readdir(`/proc/${pid}/fd`).catch(() => undefined);
    return files === undefined ? [] : [{ router: running.router, used: files.length, most }];
  });
  return (await Promise.all(counted)).flat();
}

/** Bundles of the user hide those of the same name that the site issued. Those of Secrets are found as copies only. */
async function readBundles(layout: NamespaceLayout): Promise<readonly BundleFacts[]> {
  const folders = [layout.input.certs, layout.internal.certs, layout.runtime.certs];
  const names = await Promise.all(folders.map(namesIn));
  const byName = new Map<string, string>();
  for (const [index, folder] of folders.entries())
    for (const name of names[index] ?? []) if (!byName.has(name)) byName.set(name, join(folder, name));
  const bundles = [...[...byName].map(([name, folder]) => ({ name, folder })), { name: '', folder: layout.internal.ca }];
  const found = await Promise.all(bundles.slice(0, MOST_BUNDLES).map(({ name, folder }) => readBundle(layout, name, folder)));
  return found.flat();
}

/** What cannot be read or parsed is in the status of the resources that use it. */
async function readBundle(layout: NamespaceLayout, name: string, folder: string): Promise<readonly BundleFacts[]> {
  const path = join(folder, 'tls.crt');
  const text = await readText(path, { bytes: MOST_BYTES }).catch(() => undefined);
  if (text === undefined) return [];
  try {
    const [{ facts }] = readCertificates(text, path);
    const { subject, issuer, hosts, notBefore, notAfter, isAuthority } = facts;
    return [{ name, location: relative(layout.root, path), subject, issuer, hosts, notBefore, notAfter, isAuthority }];
  } catch {
    return [];
  }
}

const MOST_BUNDLES = 5_000;
const MOST_BYTES = 1024 * 1024;
