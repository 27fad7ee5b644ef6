/** A process that takes the lock named by its argument, says so, and holds it until it is killed. */
import { lockWithin } from '../../../src/files/lock.ts';

const [, , path = ''] = process.argv;
const lock = await lockWithin(path, 0);
process.on('exit', () => lock[Symbol.dispose]());
process.stdout.write(`held ${path}\n`);
setInterval(() => {}, 60_000);
