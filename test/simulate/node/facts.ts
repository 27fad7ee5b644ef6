/** Stands for what reads certificates: it reads each PEM text once. Routers look at theirs whenever they open a link. */
import { readCertificates as read } from '../../../src/x509/facts.ts';
import { readOnce } from './read-once.ts';

export * from '../../../src/x509/facts.ts';

export const readCertificates = readOnce(read);
