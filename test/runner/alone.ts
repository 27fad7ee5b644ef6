/** Run by test-file.ts: one file of tests in this process. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { endProcess } from './end-process.ts';

const [endLimit, file = ''] = process.argv.slice(2);
await import(pathToFileURL(resolve(file)).href);
endProcess(Number(endLimit));
