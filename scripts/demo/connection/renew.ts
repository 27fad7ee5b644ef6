import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DemoError } from '../narrator.ts';
import { DISK } from './two-sites.ts';
import type { Tour } from './tour.ts';

/** A new certificate for the link, in the middle of a download. */
export async function renewCertificate({ narrator, playground, ports }: Tour, link: string): Promise<void> {
  narrator.say(`
    The certificate of a link lasts 30 days, and is renewed over the link after about 20 by itself. Here it is asked for now, and
    in the middle of a download of ${DISK} MB, which the client stops reading meanwhile.`);
  const file = join(playground.folder, 'home/namespaces/west/internal/certs', link, 'tls.crt');
  const serialOf = async (): Promise<string> => new X509Certificate(await readFile(file)).serialNumber;
  const before = await serialOf();

  const client = await playground.follow(`curl -sS http://127.0.0.1:${ports.listener}/disk.img`);
  const body = client.stdout[Symbol.asyncIterator]();
  const hash = createHash('sha256');
  let bytes = 0;
  const read = async (): Promise<boolean> => {
    const { done, value } = await body.next();
    if (done === true) return false;
    hash.update(value);
    bytes += value.length;
    return true;
  };
  if (!(await read())) throw new DemoError('the download ended before it began');
  narrator.progress(`the client has read ${Math.ceil(bytes / 1024)} KB, and waits`);

  await playground.run(`earshot -n west link renew ${link}`);
  const after = await serialOf();
  narrator.table([
    ['CERTIFICATE OF THE LINK', 'SERIAL NUMBER'],
    ['before', before],
    ['after', after],
  ]);
  narrator.claim('the link has another certificate, with a new key', after !== before, after);

  narrator.progress('the client reads on');
  while (await read());
  const sent = createHash('sha256')
    .update(await readFile(join(playground.folder, 'www/disk.img')))
    .digest('hex');
  const isWhole = bytes === DISK * 2 ** 20 && hash.digest('hex') === sent;
  narrator.claim(
    `the connection that was open went on: ${bytes / 2 ** 20} MB came, with the SHA-256 of what was sent`,
    isWhole,
    `${bytes} bytes`,
  );
}
