/** Stands for what finds out whose a key is: each record is read with that question. */
import { Buffer } from 'node:buffer';
import { siteIdOf as find } from '../../../src/identity/site-id.ts';
import { readOnce } from './read-once.ts';

export * from '../../../src/identity/site-id.ts';

const known = readOnce((key) => find(Buffer.from(key, 'latin1')));

export const siteIdOf = (publicKey: Buffer): string => known(publicKey.toString('latin1'));
