// Ends with 1 where a package of package-lock.json is not installed, or in another version: after `npm ci --omit=dev` what only tests and tools use
// is not. Any Node.js runs this, since the pinned one may be what is missing. Packages for other systems are optional, and are left out.
import { existsSync, readFileSync } from 'node:fs';

const packagesIn = (file) => new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')).packages));
const INSTALLED = 'node_modules/.package-lock.json';

const installed = existsSync(INSTALLED) ? packagesIn(INSTALLED) : new Map();
const missing = [...packagesIn('package-lock.json')].filter(
  ([path, { version, optional }]) => path !== '' && optional !== true && !(installed.get(path)?.version === version && existsSync(path)),
);
process.exitCode = missing.length === 0 ? 0 : 1;
