import { writeFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import type { Host } from './host.ts';
import type { Site } from './site.ts';

interface LinkFile {
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: { readonly endpoints: readonly { readonly name: string; readonly port: string }[] };
}

/**
 * What a standard client needs of `link generate`, on a host of its own: a folder with `tls.crt`, `tls.key` and `ca.crt`, and the port of
 * the inter-router endpoint.
 * @param name by which the site is reached
 */
export async function placeLinkFiles(
  site: Site,
  name: string,
  host: Host,
): Promise<{ readonly certificates: string; readonly port: string }> {
  const printed = await site.earshot(['link', 'generate', '--host', name]);
  // Its own documents: a Secret and a Link.
  const documents = parseAllDocuments(printed).map((document) => document.toJS() as LinkFile);
  const data = documents.find((document) => document.data !== undefined)?.data ?? {};
  const port = documents.flatMap(({ spec }) => spec?.endpoints ?? []).find((endpoint) => endpoint.name === 'inter-router')?.port ?? '';
  const certificates = await host.folder('certificates');
  for (const [file, text] of Object.entries(data)) await writeFile(`${certificates}/${file}`, Buffer.from(text, 'base64'), { mode: 0o600 });
  return { certificates, port };
}
