/** A process that takes the lock named by its argument, says so, and holds it until it is killed. */
import { acquireLock } from '../../../../src/trust/disk/lock.ts';

const [, , path = ''] = process.argv;
await acquireLock(path);
process.stdout.write('held\n');
setInterval(() => {}, 60_000);
